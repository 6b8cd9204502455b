# tries: to break the sending of the program by a character that no encoding has
# expect: code_execution_error
# source: a lone surrogate at its end
# holds: reason has surrogate
print("LEAK: it ran")
