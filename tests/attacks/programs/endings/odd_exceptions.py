# tries: to break the report of its end by an exception whose text and class fail themselves
# expect: code_execution_error
class Odd(BaseException):
    def __str__(self):
        raise Odd("no text")

    def __repr__(self):
        raise Odd("no text either")

    def __getattribute__(self, name):
        raise Odd("no attributes")


raise Odd
