/* warm/plain.c -- looks at the words of code, once, from the first to the last.
 *
 * It does not know what is a text, a comment or code: words are words.  So nothing can be hidden from it, by
 * quotes, lines that go on, or expressions inside of texts; what it takes for code and is not costs time, no
 * more.  It knows of the names of built-in functions, of names with two underscores, and of modules:
 *
 *   - what is imported is in a table (harmless.h), by its own name, and not inside of anything;
 *   - the name of a module that is imported is followed, wherever it stands, by '.' and a name of that table.
 *     So no variable ever holds a module;
 *   - a class has a plain list of bases, without a word about how classes are made, and only methods that
 *     nobody calls at the end;
 *   - a generator is not in the middle of anything that has an end of its own. */
#include "warm/plain.h"

#include "warm/bare.h"
#include "warm/harmless.h"

#define PLAIN_MAX (16u * 1024)
#define N_MODULES (sizeof harmless_modules / sizeof *harmless_modules)
#define N_CHAINS 128u
#define N_WORDS 200u /* more than there are */

enum kind {
        UNKNOWN, /* the code's own name, or a text */
        HARMLESS,
        BUILTIN, /* harmful, unless it is an attribute, which is the code's own then */
        KEYWORD,
        NEVER,
        IMPORT,
        FROM,
        CLASS,
        TYPE,
        ITS_CLASS,
        YIELD,
        GUARD, /* what it begins is ended */
        CASE,
        OBJECT,
        MODULE, /* and those after it */
};

struct text {
        const char *at;
        size_t length;
};

/* The words that we know, by chains of those that look alike. */
static struct {
        unsigned n_words;               /* 0: nobody has prepared it */
        unsigned char chains[N_CHAINS]; /* 0: none */
        struct {
                struct text text;
                unsigned char kind, next;
        } words[N_WORDS];
} known;

struct scan {
        const char *code;
        const char *at;       /* behind the last word */
        struct text word[2];  /* the last two; the later is the first */
        const char *imported; /* behind the last module; NULL: none */
        uint64_t bound;       /* modules that have a name */
        uint64_t loose;       /* that stand somewhere for themselves */
        unsigned seen;        /* kinds, as bits */
};

/* 0-9, A-Z, a-z, '_', and all that is not ASCII. */
static int is_letter(char c)
{
        static const uint64_t letters[] = {0x03ff000000000000u, 0x07fffffe87fffffeu, ~0ull, ~0ull};
        return (letters[(unsigned char)c >> 6] >> ((unsigned char)c & 63) & 1) != 0;
}

static int is_quote(char c)
{
        return c == '"' || c == '\'';
}

static int is_same(const struct text *a, const struct text *b)
{
        if (a->length != b->length)
                return 0;
        for (size_t i = 0; i < a->length; i++)
                if (a->at[i] != b->at[i])
                        return 0;
        return 1;
}

/* The word that begins here; of length 0 if there is none. */
static struct text word_at(const char *at)
{
        struct text word = {at, 0};
        while (is_letter(at[word.length]))
                word.length++;
        return word;
}

static const char *skip_blanks(const char *at)
{
        while (*at == ' ')
                at++;
        return at;
}

static unsigned chain_of(const struct text *word)
{
        return ((unsigned char)word->at[0] * 5u + (unsigned char)word->at[word->length - 1] * 11u +
                (unsigned char)word->at[word->length / 2] * 3u + (unsigned)word->length) %
               N_CHAINS;
}

static void know(const char *words, unsigned kind)
{
        for (; *words && known.n_words + 1 < N_WORDS; words = skip_blanks(words)) {
                struct text word = word_at(words);
                unsigned char *chain = &known.chains[chain_of(&word)];
                known.n_words++; /* from 1 on */
                known.words[known.n_words].text = word;
                known.words[known.n_words].kind = (unsigned char)kind;
                known.words[known.n_words].next = *chain;
                *chain = (unsigned char)known.n_words;
                words += word.length;
        }
}

/* The later is found: a name among keywords is given its own kind behind them. */
static unsigned kind_of(const struct text *word)
{
        unsigned char i = word->length ? known.chains[chain_of(word)] : 0;
        while (i && !is_same(&known.words[i].text, word))
                i = known.words[i].next;
        return i ? known.words[i].kind : UNKNOWN;
}

void plain_prepare(void)
{
        if (known.n_words > 0)
                return;
        know(KEYWORDS, KEYWORD);
        know(HARMLESS_DUNDERS, HARMLESS);
        know(HARMFUL_BUILTINS, BUILTIN);
        know("async await", NEVER);
        know("import", IMPORT);
        know("from", FROM);
        know("class", CLASS);
        know("type", TYPE);
        know("__class__", ITS_CLASS);
        know("yield", YIELD);
        know("try with", GUARD);
        know("case", CASE);
        know("obj", OBJECT);
        for (unsigned i = 0; i < N_MODULES; i++)
                know(harmless_modules[i].name, MODULE + i);
}

static int is_among(const char *words, const struct text *word)
{
        while (*words) {
                struct text other = word_at(words);
                if (is_same(&other, word))
                        return 1;
                words = skip_blanks(words + other.length);
        }
        return 0;
}

/* A name in the language's own sense, and no word of it: beside such a one stands no other. */
static int is_name(const struct text *word)
{
        if (word->length == 0 || (word->at[0] >= '0' && word->at[0] <= '9')) /* "1if" */
                return 0;
        const unsigned kind = kind_of(word);
        return kind == UNKNOWN || kind == BUILTIN || kind >= MODULE;
}

static int follows_point(const struct scan *scan, const struct text *word)
{
        return word->at > scan->code && word->at[-1] == '.';
}

/* Whether a word can only be part of a text or a comment: with a quote or another name right beside it. */
static int is_text(const struct scan *scan, const struct text *word)
{
        const char *end = word->at + word->length, *start = word->at;
        if ((start > scan->code && is_quote(start[-1])) || is_quote(*end))
                return 1;
        if (*end == ' ') {
                struct text next = word_at(skip_blanks(end));
                if (is_name(&next))
                        return 1;
        }
        const struct text *before = &scan->word[1];
        const char *between = before->length ? before->at + before->length : start;
        return between < start && skip_blanks(between) == start &&
               !follows_point(scan, before) /* "1.jor" */ && is_name(before);
}

/* ---- what is imported ---- */

static int is_end_of_statement(const char *at)
{
        at = skip_blanks(at);
        return *at == '\0' || *at == '\n' || *at == '\r' || *at == ';' || *at == '#';
}

/* "a, b": each of them must be fine. */
static int import_list(struct scan *scan, const char *at, int (*fine)(struct scan *, unsigned, struct text *),
                       unsigned module)
{
        for (;;) {
                struct text name = word_at(skip_blanks(at));
                if (name.length == 0 || !fine(scan, module, &name))
                        return 0;
                at = name.at + name.length;
                scan->at = at;
                at = skip_blanks(at);
                if (*at != ',')
                        return is_end_of_statement(at);
                at++;
        }
}

static int imports_module(struct scan *scan, unsigned unused, struct text *name)
{
        (void)unused;
        const unsigned kind = kind_of(name);
        if (kind < MODULE)
                return 0;
        scan->bound |= 1ull << (kind - MODULE);
        return 1;
}

static int imports_name(struct scan *scan, unsigned module, struct text *name)
{
        (void)scan;
        return is_among(harmless_modules[module].names, name);
}

/* Where a statement begins that is in no class, whose attribute the module would be: on a line that is not
 * indented, and does not go on with the one before; or behind another of the kind. */
static int begins_statement(const struct scan *scan, const char *at)
{
        const char *last = scan->imported;
        if (last && *(last = skip_blanks(last)) == ';' && skip_blanks(last + 1) == at)
                return 1;
        if (at == scan->code)
                return 1;
        if (*--at != '\n')
                return 0;
        if (at > scan->code && at[-1] == '\r')
                at--;
        return at == scan->code || at[-1] != '\\';
}

static int check_import(struct scan *scan, const struct text *word)
{
        if (!begins_statement(scan, word->at) || *scan->at != ' ' ||
            !import_list(scan, scan->at, imports_module, 0))
                return 0;
        scan->imported = scan->at;
        return 1;
}

/* Also of "raise A from b", and of a text: then it is no more than a word.  What has the form, but not quite,
 * fails at its "import", which begins no statement. */
static int check_from(struct scan *scan)
{
        if (kind_of(&scan->word[1]) == YIELD) /* calls close() of whatever that is */
                return 0;
        struct text module = word_at(skip_blanks(scan->at));
        struct text import = word_at(skip_blanks(module.at + module.length));
        if (module.length == 0 || kind_of(&import) != IMPORT)
                return 1;
        const unsigned kind = kind_of(&module);
        const char *list = import.at + import.length;
        return kind >= MODULE && *list == ' ' && import_list(scan, list, imports_name, kind - MODULE);
}

/* ---- what is made ---- */

/* What may stand between a name and what belongs to it that we do not follow. */
static int is_odd_blank(char c)
{
        return c == '\t' || c == '\f' || c == '\\';
}

/* "class A:" or "class A(B, c.D):".  What cannot be a class whatever comes next is a word of a text. */
static int check_class(struct scan *scan)
{
        const char *at = skip_blanks(scan->at);
        struct text name = word_at(at);
        if (name.length == 0)
                return !is_odd_blank(*at);
        at = skip_blanks(name.at + name.length);
        if (*at != '(')
                return *at != '[' && !is_odd_blank(*at);
        for (at++; is_letter(*at) || *at == ' ' || *at == '.' || *at == ',' || *at == '[' || *at == ']'; at++)
                continue;
        return at[0] == ')' && at[1] == ':';
}

static int starts_with(const char *at, const char *text)
{
        while (*text && *at == *text)
                at++, text++;
        return !*text;
}

#define ITS_NAME ".__name__"

/* "type(a.b).__name__" */
static int check_type(const struct scan *scan)
{
        const char *at = scan->at;
        if (*at++ != '(')
                return 0;
        while (is_letter(*at) || *at == '.')
                at++;
        return *at++ == ')' && starts_with(at, ITS_NAME) && !is_letter(at[sizeof ITS_NAME - 1]);
}

static int check_module(struct scan *scan, const struct text *word, unsigned module)
{
        if (follows_point(scan, word) || is_text(scan, word))
                return 1;
        struct text name = {0};
        if (*scan->at == '.')
                name = word_at(scan->at + 1);
        if (name.length == 0 || !is_among(harmless_modules[module].names, &name))
                scan->loose |= 1ull << module;
        return 1;
}

/* ---- words ---- */

static int has_two_underscores(const struct text *word)
{
        for (size_t i = 1; i < word->length; i++)
                if (word->at[i] == '_' && word->at[i - 1] == '_')
                        return 1;
        return 0;
}

/* "__balance", which is a class's own: nothing in the language has such a name. */
static int is_private(const struct text *word)
{
        struct text rest = {word->at + 1, word->length - 1};
        return word->length > 2 && word->at[0] == '_' && !has_two_underscores(&rest) &&
               word->at[word->length - 1] != '_';
}

/* Of generators, coroutines and tracebacks, by which one comes to frames, and so to everything. */
static int leads_to_frame(const struct text *word)
{
        const char *at = word->at;
        return word->length > 3 && at[2] == '_' &&
               ((at[1] == 'i' && at[0] == 'g') || (at[1] == 'r' && at[0] == 'c') ||
                (at[1] == 'g' && at[0] == 'a') || (at[1] == 'b' && at[0] == 't'));
}

/* "# coding: utf-7" makes of everything something else. */
static int says_encoding(const struct text *word)
{
        const char *end = word->at + word->length;
        return word->length >= 6 && (*end == ':' || *end == '=') && starts_with(end - 6, "coding");
}

static int check_word(struct scan *scan, const struct text *word)
{
        const unsigned kind = kind_of(word);
        if (kind == UNKNOWN)
                return (!has_two_underscores(word) || is_private(word)) && !leads_to_frame(word) &&
                       !says_encoding(word);
        if (kind >= MODULE)
                return check_module(scan, word, kind - MODULE);
        scan->seen |= 1u << kind;
        switch (kind) {
        case BUILTIN:
                return follows_point(scan, word) || is_text(scan, word);
        case TYPE:
                return follows_point(scan, word) || check_type(scan) || is_text(scan, word);
        case ITS_CLASS:
                return follows_point(scan, word) && starts_with(scan->at, ITS_NAME) &&
                       !is_letter(scan->at[sizeof ITS_NAME - 1]);
        case OBJECT: /* of an AttributeError: a module, if it was one's that is gone */
                return !follows_point(scan, word);
        case IMPORT:
                return check_import(scan, word);
        case FROM:
                return check_from(scan);
        case CLASS:
                return check_class(scan);
        default:
                return kind != NEVER;
        }
}

static int check_words(struct scan *scan)
{
        while (*scan->at) {
                struct text word = word_at(scan->at);
                scan->at += word.length ? word.length : 1;
                if (word.length == 0)
                        continue;
                scan->word[1] = scan->word[0];
                scan->word[0] = word;
                if (!check_word(scan, &word))
                        return 0;
        }
        return 1;
}

static int has_seen(const struct scan *scan, unsigned kind)
{
        return (scan->seen & 1u << kind) != 0;
}

/* The interpreter takes many letters for another in names, such as those of full width for ours.  These are
 * for none: most of what people write, and what they draw. */
static int is_odd_letter(uint32_t letter)
{
        static const struct {
                uint32_t first, last;
        } fine[] = {{0xa0, 0xa9},       {0xab, 0xb9},      {0xbb, 0x131},    {0x134, 0x13e},
                    {0x141, 0x148},     {0x14a, 0x17e},    {0x180, 0x1c3},   {0x1cd, 0x1f0},
                    {0x1f4, 0x2af},     {0x300, 0x1cff},   {0x2010, 0x205f}, {0x20a0, 0x20cf},
                    {0x2190, 0x2bff},   {0x2e80, 0xa4ff},  {0xac00, 0xd7ff}, {0xfe0f, 0xfe0f},
                    {0x1f300, 0x1faff}, {0x20000, 0x3ffff}};
        size_t i = 0;
        while (i < sizeof fine / sizeof *fine && (letter < fine[i].first || letter > fine[i].last))
                i++;
        return i == sizeof fine / sizeof *fine;
}

/* The first letter that is no plain one of ASCII, if not up to seven that are. */
static const unsigned char *skip_ascii(const unsigned char *c, const unsigned char *end)
{
        uint64_t eight;
        for (; end - c >= 8; c += 8) {
                __builtin_memcpy(&eight, c, 8);
                if ((eight | (eight - 0x0101010101010101u)) & 0x8080808080808080u)
                        break;
        }
        return c;
}

/* Also a NUL is. */
static int has_odd_letters(const char *code, size_t length)
{
        const unsigned char *c = (const unsigned char *)code, *end = c + length;
        while ((c = skip_ascii(c, end)) < end) {
                uint32_t letter = *c++;
                if (letter - 1 < 0x7f)
                        continue;
                const int more = letter < 0xe0 ? 1 : letter < 0xf0 ? 2 : 3;
                letter &= 0x3fu >> more;
                for (int n = 0; n < more; n++) {
                        if ((*c & 0xc0) != 0x80)
                                return 1; /* nothing that Python would read */
                        letter = letter << 6 | (*c++ & 0x3f);
                }
                if (is_odd_letter(letter))
                        return 1;
        }
        return 0;
}

int plain_code(const char *code, size_t length)
{
        struct scan scan = {.code = code, .at = code, .word = {{code, 0}, {code, 0}}};
        _Static_assert(N_MODULES <= 64, "a bit for each");
        plain_prepare();
        if (known.n_words + 1 >= N_WORDS || length >= PLAIN_MAX || has_odd_letters(code, length))
                return 0;
        return check_words(&scan) && !(scan.bound & scan.loose) &&
               !(has_seen(&scan, YIELD) && has_seen(&scan, GUARD)) &&
               !(has_seen(&scan, CASE) && has_seen(&scan, OBJECT));
}
