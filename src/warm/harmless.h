/* warm/harmless.h -- words of Python that mean something to plain.c.
 *
 * A module is here if what is named of it can be argued for, one by one: it is no module; gives nobody a
 * module, a frame, or an attribute by a name that is a text; reads no file; starts nothing; makes nothing
 * that is called when it goes, whatever a class of the code's adds to it.  This is why some are missing that
 * look as harmless as the rest: io.StringIO          calls close() of a class that is made of it when it goes
 *   enum.Enum            makes classes of a dictionary, in which may be a __del__
 *   functools.wraps      copies attributes by their names; so does singledispatch, and keeps weak references
 *   operator.attrgetter  is getattr(), as are methodcaller, and string.Formatter's get_field()
 *   typing.get_type_hints  evaluates texts
 *   heapq.merge          is a generator of others', whose close() it calls; so are the keys of a ChainMap
 *                        and of what is made of typing.Mapping
 *   contextlib           is about what has to be ended
 * test/warm/test_harmless.py asks an interpreter for what can be asked. */
#pragma once

struct harmless_module {
        const char *name, *names; /* with a blank between them */
};

static const struct harmless_module harmless_modules[] = {
        {"abc", "ABC abstractmethod"},
        {"base64", "b64encode b64decode urlsafe_b64encode urlsafe_b64decode standard_b64encode "
                   "standard_b64decode b32encode b32decode b16encode b16decode b85encode b85decode"},
        {"bisect", "bisect bisect_left bisect_right insort insort_left insort_right"},
        {"collections", "Counter OrderedDict defaultdict deque namedtuple"},
        {"copy", "copy deepcopy"},
        {"dataclasses", "asdict astuple dataclass field fields is_dataclass replace"},
        {"datetime", "MAXYEAR MINYEAR UTC date datetime time timedelta timezone"},
        {"decimal", "Decimal ROUND_CEILING ROUND_DOWN ROUND_FLOOR ROUND_HALF_DOWN ROUND_HALF_EVEN "
                    "ROUND_HALF_UP ROUND_UP getcontext localcontext"},
        {"fractions", "Fraction"},
        {"functools", "cache cmp_to_key lru_cache partial reduce total_ordering"},
        {"hashlib", "blake2b blake2s md5 sha1 sha224 sha256 sha384 sha3_256 sha3_512 sha512"},
        {"heapq", "heapify heappop heappush heappushpop heapreplace nlargest nsmallest"},
        {"itertools", "accumulate batched chain combinations combinations_with_replacement compress count "
                      "cycle dropwhile filterfalse groupby islice pairwise permutations product repeat "
                      "starmap takewhile tee zip_longest"},
        {"json", "JSONDecodeError JSONDecoder JSONEncoder dump dumps load loads"},
        {"math", "acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees dist e erf "
                 "erfc exp exp2 expm1 fabs factorial floor fma fmod frexp fsum gamma gcd hypot inf isclose "
                 "isfinite isinf isnan isqrt lcm ldexp lgamma log log10 log1p log2 modf nan nextafter perm "
                 "pi pow prod radians remainder sin sinh sqrt sumprod tan tanh tau trunc ulp"},
        {"operator", "add and_ concat contains eq floordiv ge getitem gt itemgetter le lt mod mul ne neg "
                     "or_ pow sub truediv xor"},
        {"pprint", "pformat pprint"},
        {"random", "Random betavariate choice choices expovariate gauss getrandbits getstate normalvariate "
                   "randint random randrange sample seed setstate shuffle triangular uniform"},
        {"re", "A ASCII DOTALL I IGNORECASE M MULTILINE S VERBOSE X compile error escape findall finditer "
               "fullmatch match search split sub subn"},
        {"statistics", "fmean geometric_mean harmonic_mean mean median median_grouped median_high median_low "
                       "mode multimode pstdev pvariance quantiles stdev variance"},
        {"string", "ascii_letters ascii_lowercase ascii_uppercase capwords digits hexdigits octdigits "
                   "printable punctuation whitespace"},
        {"textwrap", "dedent fill indent shorten wrap"},
        {"time", "asctime ctime gmtime localtime mktime monotonic monotonic_ns perf_counter perf_counter_ns "
                 "process_time process_time_ns sleep strftime strptime time time_ns"},
        {"typing", "Any Callable Dict FrozenSet Generator Generic Iterable Iterator List Optional "
                   "Sequence Set Tuple TypeVar Union cast"},
        {"uuid", "UUID uuid4"},
};

/* Methods and attributes with such names that nothing but the code's own lines calls, or asks for. */
#define HARMLESS_DUNDERS                                                                                     \
        "__abs__ __add__ __and__ __bool__ __call__ __contains__ __delitem__ __divmod__ __enter__ __eq__ "    \
        "__exit__ __float__ __floordiv__ __format__ __ge__ __getitem__ __gt__ __hash__ __iadd__ __imul__ "   \
        "__index__ __init__ __int__ __invert__ __isub__ __iter__ __itruediv__ __le__ __len__ __lt__ "        \
        "__main__ __matmul__ __missing__ __mod__ __mul__ __name__ __ne__ __neg__ __new__ __next__ __or__ "   \
        "__pos__ __post_init__ __pow__ __radd__ __repr__ __reversed__ __rfloordiv__ __rmul__ __round__ "     \
        "__rsub__ __rtruediv__ __setitem__ __str__ __sub__ __truediv__ __xor__"

/* By which code reaches everything, its file, or its end. */
#define HARMFUL_BUILTINS                                                                                     \
        "aiter anext breakpoint compile copyright credits delattr eval exec exit getattr globals hasattr "   \
        "help license locals open quit setattr vars"

/* Names beside which another one may stand. */
#define KEYWORDS                                                                                             \
        "False None True and as assert async await break case class continue def del elif else except "      \
        "finally for from global if import in is lambda lazy match nonlocal not or pass raise return try "   \
        "type while with yield _"
