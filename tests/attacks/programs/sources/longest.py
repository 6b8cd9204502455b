# tries: to be as long as a program may be
# expect: success
# source: padded to 200000
# holds: stdout has it ran
print("it ran")
