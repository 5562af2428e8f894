"""The codes of all diagnostics, each declared once with its title, the phase that finds it, and its traits."""

from __future__ import annotations


class Code(str):
    """A code is its text, with a heading (of its page) and the phase that finds it.

    `is_unproved`: the claim was not proved and is checked when the program runs. `only_empty`: it holds for empty tensors
    only. `of_sizes`: sizes of a call's operands do not fit; `of_elements`: the number of elements does not; `of_dtypes`:
    their dtypes do not. `of_brackets`: errors on the same lines may be consequences. `is_absent`: a file does not exist.
    `of_last_axes`: axes are counted from the last one. `spreads`: both operands are repeated. `is_whole`: the sentence has no
    verdict. `is_quiet`: a fix may cause it without being worse. `of_shapes`: other shapes may have been meant. `of_sorts`: a
    value of the shape level stands where a tensor is needed. `of_signature`: a condition that a function's author wrote is
    not met. `is_unread`: the input could not be read to its end. `is_gap`: a part of a model is not read; it is shown beside
    the contract.
    """

    heading: str
    phase: str
    is_unproved = only_empty = of_sizes = of_elements = of_dtypes = False
    of_brackets = is_absent = spreads = is_whole = is_quiet = of_last_axes = of_shapes = of_signature = of_sorts = False
    is_unread = is_gap = False


# One code per line: its phase, its traits, and its heading.
_TABLE = """
# In the text
E101 text: something unexpected in the text
E102 text: a character that means nothing
E103 text: a string that does not end
E104 text: nested too deeply
E105 text of_brackets: a bracket without its partner
E107 text: not a number
E108 text: a type that is not well formed
E109 text: a positional argument after a keyword
E110 text: not an escape

# In names, sorts and files
E201 names: a name that nothing binds
E202 names: a function that does not exist
E203 names: one name defined twice
E204 names: a size may not be bound again
E205 names: arguments that do not fit the parameters
E206 names: a value of another sort than is needed here
E207 names of_sorts: a size where a tensor is needed
E208 names: an annotation that does not determine its names
E209 names: a shape with more than one unknown splice
E210 names: a block without a result
E211 names: a tensor literal that is not a tensor
E212 names: recursion without an annotated result
E213 names: a script and @main in one file
E214 names: a core function that is not in core form
E215 names: an attribute that does not exist
E216 names: a type that does not exist
E217 names: a type defined by itself
E218 names: weights loaded in the wrong place
E219 names: an `if` whose arms do not fit together
E220 names is_whole: an attribute that has to be literal
E221 names: a form that cannot stand here
E222 names: implementations that do not fit together
E223 names: nested too deeply
E224 names: a private function that is called from outside
E225 names: a misspelt dtype
E226 names: a `for` over something else than a range
E227 names: a loop that does not say what it gives
E228 names: a turn that does not give what its loop carries and stacks
E229 names: a stacked type that changes from turn to turn
E230 names: a gradient that wants a cotangent
E231 names: nothing to differentiate
E232 names: a primitive without a rule for its gradient
E240 names is_absent: a file that does not exist
E241 names: a file outside the program's folder
E242 names: a file that cannot be read
E243 names: files that import each other
E244 names: an import that needs a name
E245 names: a weights file that cannot be used
E246 names is_whole: a model file that cannot be read
E247 names: a node of a model that has no meaning in Rx
E248 names: a declared shape that is not the one a model gives
E250 names: a model that is not what its contract says
E251 names: a contract that cannot be compared
E252 names is_whole is_unread: Python code that cannot be traced
E253 names: something that an engine cannot run
E299 names: not supported yet

# In sizes and dtypes
E301 sizes of_shapes: an argument that cannot fit its parameter
E302 sizes of_shapes: a claim that is wrong
E303 sizes of_shapes: an assertion that always fails
E304 sizes of_sizes of_shapes: a condition of a primitive that never holds
E305 sizes of_sizes of_last_axes of_shapes: matrices that cannot be multiplied
E306 sizes of_sizes of_shapes: shapes that cannot be broadcast together
E307 sizes of_elements of_shapes: a reshape that would change the number of elements
E308 sizes of_sizes of_shapes: tensors that cannot be joined
E309 sizes of_signature: a condition of the signature that never holds at this call
E310 sizes only_empty of_shapes: works only on empty tensors
E311 sizes: a signature that no sizes satisfy
E312 sizes: assertions that contradict each other
E313 sizes of_dtypes: dtypes that do not fit
E314 sizes of_shapes: an attribute of a primitive that cannot be right
E315 sizes: fails whenever one arm of an `if` is taken
E316 sizes: no implementation fits
E317 sizes of_elements of_shapes: an exact size is needed where a bound is known
E318 sizes: Python code that raises

# Left for when it runs
W311 sizes is_unproved of_shapes: a claim that could not be proved
W314 sizes: a check that an exported model does not make
W312 sizes is_absent: weights that are not there yet
W313 sizes: a reshape that stands for a transpose

# To know
N201 notes is_quiet: a name that is bound and never used
N202 notes spreads: operands that are both repeated
N203 notes: a reduction over a single element
N204 notes: a name for any dtype that is called like one
N205 notes: a size of a model whose name is not understood
N206 notes: a condition on the inputs of a model
N207 notes is_gap: an operator of a model that has no rule
N301 notes: code that no execution reaches
N302 notes: an implementation that is never chosen
N303 notes: questions that only z3 would decide, which cannot be used here
N304 notes: a gradient that was not tried

# While it runs
R401 run of_shapes: a check that failed at run time
R402 run: a primitive that failed on its data
R403 run: an extern function that failed
R404 run: a Python value that cannot be an argument
R405 run: a gradient that differs from central differences
"""
CODES: dict[str, Code] = {}


def _declare(row: str) -> None:
    said, _, heading = row.partition(": ")
    text, phase, *flags = said.split()
    CODES[text] = code = Code(text)
    code.__dict__ |= {"heading": heading, "phase": phase, **dict.fromkeys(flags, True)}


def __getattr__(name: str) -> Code:
    """Return a code, as `codes.E101`; tests/test_house.py checks that all names used exist."""
    if name not in CODES:
        raise AttributeError(name)
    return CODES[name]


for _row in filter(lambda row: row[:1].isalpha(), _TABLE.splitlines()):
    _declare(_row)
