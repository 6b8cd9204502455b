# tries: to hide what it prints at its end behind megabytes of lines
# expect: success
# holds: stdout has the very last line
# holds: stdout has the very first line
print("the very first line")
for number in range(20_000):
    print(number)
print("the very last line")
