# tries: to recurse without an end
# expect: code_execution_error
# holds: reason has RecursionError
def deeper():
    return deeper()


deeper()
