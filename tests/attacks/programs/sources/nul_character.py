# tries: to break the reading of the program by a NUL character
# expect: code_execution_error
# source: a NUL at its end
# holds: reason has NUL
print("LEAK: it ran")
