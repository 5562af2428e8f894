"""Every diagnostic's code, declared once: its title, the phase that finds it, and what else is decided by it."""

from __future__ import annotations


class Code(str):
    """A code is its text, and has a heading (of its page) and the phase that finds it.

    `is_doubt`: what is said was not proved, and is checked when the program runs. `only_empty`: it holds for empty tensors
    alone. `of_sizes`: sizes of a call's operands do not fit; `of_elements`: the number of elements does not; `of_dtypes`: their
    dtypes do not. `of_brackets`: what follows in the same lines may follow from it. `is_absent`: a file is not there.
    `spreads`: both operands are repeated. `is_whole`: the sentence has no verdict behind it. `is_quiet`: no mend is worse for
    it.
    """

    heading: str
    phase: str
    is_doubt = only_empty = of_sizes = of_elements = of_dtypes = False
    of_brackets = is_absent = spreads = is_whole = is_quiet = False

    def __new__(cls, text: str, heading: str, phase: str, *flags: str) -> Code:
        CODES[text] = made = super().__new__(cls, text)
        made.__dict__ |= {"heading": heading, "phase": phase, **dict.fromkeys(flags, True)}
        return made


CODES: dict[str, Code] = {}


# In the text
E101 = Code("E101", "something unexpected in the text", "text")
E102 = Code("E102", "a character that means nothing", "text")
E103 = Code("E103", "a string that does not end", "text")
E104 = Code("E104", "nested too deeply", "text")
E105 = Code("E105", "a bracket without its partner", "text", "of_brackets")
E107 = Code("E107", "not a number", "text")
E108 = Code("E108", "a type that is not well formed", "text")
E109 = Code("E109", "a positional argument after a keyword", "text")
E110 = Code("E110", "not an escape", "text")

# In names, sorts and files
E201 = Code("E201", "a name that nothing binds", "names")
E202 = Code("E202", "a function that does not exist", "names")
E203 = Code("E203", "one name defined twice", "names")
E204 = Code("E204", "a size may not be bound again", "names")
E205 = Code("E205", "arguments that do not fit the parameters", "names")
E206 = Code("E206", "a value of another sort than is needed here", "names")
E207 = Code("E207", "a size where a tensor is needed", "names")
E208 = Code("E208", "an annotation that does not determine its names", "names")
E209 = Code("E209", "a shape with more than one unknown splice", "names")
E210 = Code("E210", "a block without a result", "names")
E211 = Code("E211", "a tensor literal that is no tensor", "names")
E212 = Code("E212", "recursion without an annotated result", "names")
E213 = Code("E213", "a script and @main in one file", "names")
E214 = Code("E214", "a core function that is not in core form", "names")
E215 = Code("E215", "an attribute that does not exist", "names")
E216 = Code("E216", "a type that does not exist", "names")
E217 = Code("E217", "a type defined by itself", "names")
E218 = Code("E218", "weights loaded in the wrong place", "names")
E219 = Code("E219", "an `if` whose arms do not fit together", "names")
E220 = Code("E220", "an attribute that has to be literal", "names", "is_whole")
E221 = Code("E221", "a form that cannot stand here", "names")
E222 = Code("E222", "implementations that do not fit together", "names")
E223 = Code("E223", "nested too deeply", "names")
E224 = Code("E224", "a private function that is called from outside", "names")
E225 = Code("E225", "a misspelt dtype", "names")
E226 = Code("E226", "a `for` over something else than a range", "names")
E227 = Code("E227", "a loop that does not say what it gives", "names")
E228 = Code("E228", "a turn that does not give what its loop carries and stacks", "names")
E229 = Code("E229", "a stacked type that changes from turn to turn", "names")
E240 = Code("E240", "a file that does not exist", "names", "is_absent")
E241 = Code("E241", "a file outside the program's folder", "names")
E242 = Code("E242", "a file that cannot be read", "names")
E243 = Code("E243", "files that import each other", "names")
E244 = Code("E244", "an import that needs a name", "names")
E245 = Code("E245", "a weights file that cannot be used", "names")
E299 = Code("E299", "not supported yet", "names")

# In sizes and dtypes
E301 = Code("E301", "an argument that cannot fit its parameter", "sizes")
E302 = Code("E302", "a claim that is wrong", "sizes")
E303 = Code("E303", "an assertion that always fails", "sizes")
E304 = Code("E304", "what a primitive needs is never so", "sizes", "of_sizes")
E305 = Code("E305", "matrices that cannot be multiplied", "sizes", "of_sizes")
E306 = Code("E306", "shapes that cannot be broadcast together", "sizes", "of_sizes")
E307 = Code("E307", "a reshape that would change the number of elements", "sizes", "of_elements")
E308 = Code("E308", "tensors that cannot be joined", "sizes", "of_sizes")
E309 = Code("E309", "a condition of the signature that never holds at this call", "sizes")
E310 = Code("E310", "works only on empty tensors", "sizes", "only_empty")
E311 = Code("E311", "a signature that no sizes satisfy", "sizes")
E312 = Code("E312", "assertions that contradict each other", "sizes")
E313 = Code("E313", "dtypes that do not fit", "sizes", "of_dtypes")
E314 = Code("E314", "an attribute of a primitive that cannot be right", "sizes")
E315 = Code("E315", "fails whenever one arm of an `if` is taken", "sizes")
E316 = Code("E316", "no implementation fits", "sizes")

# Left for when it runs
W311 = Code("W311", "a claim that could not be proved", "sizes", "is_doubt")
W312 = Code("W312", "weights that are not there yet", "sizes")

# To know
N201 = Code("N201", "a name that is bound and never used", "notes", "is_quiet")
N202 = Code("N202", "operands that are both repeated", "notes", "spreads")
N203 = Code("N203", "a reduction over a single element", "notes")
N204 = Code("N204", "a name for any dtype that is called like one", "notes")
N301 = Code("N301", "code that no execution reaches", "notes")
N302 = Code("N302", "an implementation that is never chosen", "notes")

# While it runs
R401 = Code("R401", "a check that failed at run time", "run")
R402 = Code("R402", "a primitive that failed on its data", "run")
R403 = Code("R403", "an extern function that failed", "run")
R404 = Code("R404", "a Python value that cannot be an argument", "run")
