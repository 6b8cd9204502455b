# tries: to take over a terminal by the text of its exception, which becomes the reason of its failure
# expect: code_execution_error
# holds: feedback steers no terminal
# holds: reason has exit code 1
class Owned(Exception):
    pass


Owned.__qualname__ = Owned.__name__ = "\x1b[31mOwned"
raise Owned("\x1b]0;owned\x07 [bold red]markup[/] [link=http://attacker.example]here[/link] \x1b[2J")
