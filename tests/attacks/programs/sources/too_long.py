# tries: to be longer than a program may be
# expect: code_execution_error
# source: padded to 200001
# holds: reason has 200,001
print("LEAK: it ran")
