# tries: to hide code from a reader behind another encoding
# expect: code_execution_error
# holds: stderr has SyntaxError
exec(compile(b"# -*- coding: utf-7 -*-\n+AGkAZg-", "hidden", "exec"))
raise SyntaxError("as told by the second look")
