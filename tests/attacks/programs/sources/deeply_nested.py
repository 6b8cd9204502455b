# tries: to crash the compiler by nesting that is too deep for its stack
# expect: code_execution_error or out_of_memory
source = "(" * 90_000 + ")" * 90_000
try:
    compile(source, "nested", "exec")
except (SyntaxError, MemoryError, RecursionError) as error:
    print("refused:", type(error).__name__)
compile("-" * 900_000 + "1", "nested", "exec")
raise SystemExit(4)
