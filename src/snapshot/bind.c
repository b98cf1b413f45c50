/* snapshot/bind.c -- resolves functions of other libraries before they are called.
 *
 * Most builds of Python resolve a function at its first call. That takes a microsecond in an ordinary
 * process, but twenty in each restored process, because the symbol tables of all libraries are mapped for it.
 * So all functions are resolved before the template is written. LD_BIND_NOW would do the same, but it would
 * also apply to libraries that the code loads later, and some of those cannot be bound at once. */
#include "snapshot/bind.h"

#include <elf.h>
#include <link.h>

#include "snapshot/bare.h"

#define EVERYWHERE ((void *)0)  /* RTLD_DEFAULT */
#define BEHIND_US ((void *)-1l) /* RTLD_NEXT */
#define VERSION_MASK 0x7fff
#define VERSION_FIRST 2 /* 0 and 1 mean: no version */
#if defined __x86_64__
#define JUMP_SLOT R_X86_64_JUMP_SLOT
#elif defined __aarch64__
#define JUMP_SLOT R_AARCH64_JUMP_SLOT
#endif

/* A libc without these functions binds everything at once. */
extern int dl_iterate_phdr(int (*)(struct dl_phdr_info *, size_t, void *), void *) __attribute__((weak));
extern void *dlvsym(void *, const char *, const char *) __attribute__((weak));
extern void *dlsym(void *, const char *) __attribute__((weak));

struct object {
        Elf64_Addr base, text, text_end;
        const Elf64_Rela *calls;
        size_t n_calls;
        const Elf64_Sym *symbols;
        const char *strings;
        const Elf64_Half *versions;
        const char *needed; /* Elf64_Verneed */
        int is_bound;
};

/* The linker has added the base to the address if the table is writable, which depends on the platform. */
static const void *at(const struct object *o, Elf64_Addr address)
{
        return (const void *)(address < o->base ? o->base + address : address);
}

static void read_dynamic(struct object *o, const Elf64_Dyn *d)
{
        for (; d->d_tag != DT_NULL; d++)
                switch (d->d_tag) {
                case DT_JMPREL:
                        o->calls = at(o, d->d_un.d_ptr);
                        break;
                case DT_PLTRELSZ:
                        o->n_calls = d->d_un.d_val / sizeof *o->calls;
                        break;
                case DT_SYMTAB:
                        o->symbols = at(o, d->d_un.d_ptr);
                        break;
                case DT_STRTAB:
                        o->strings = at(o, d->d_un.d_ptr);
                        break;
                case DT_VERSYM:
                        o->versions = at(o, d->d_un.d_ptr);
                        break;
                case DT_VERNEED:
                        o->needed = at(o, d->d_un.d_ptr);
                        break;
                case DT_BIND_NOW:
                        o->is_bound = 1;
                        break;
                case DT_FLAGS:
                        o->is_bound |= (d->d_un.d_val & DF_BIND_NOW) != 0;
                        break;
                default:
                        break;
                }
}

/* Returns the version that the reference to the symbol names; NULL: any version. */
static const char *version_of(const struct object *o, size_t symbol)
{
        const unsigned index = o->versions && o->needed ? o->versions[symbol] & VERSION_MASK : 0;
        const char *library = o->needed;
        while (index >= VERSION_FIRST && library) {
                const Elf64_Verneed *from = (const void *)library;
                const char *one = library + from->vn_aux;
                for (unsigned i = 0; i < from->vn_cnt; i++) {
                        const Elf64_Vernaux *version = (const void *)one;
                        if (version->vna_other == index)
                                return o->strings + version->vna_name;
                        one += version->vna_next;
                }
                library = from->vn_next ? library + from->vn_next : 0;
        }
        return 0;
}

static int is_own_text(const struct object *o, Elf64_Addr address)
{
        return address >= o->text && address < o->text_end;
}

static Elf64_Addr look_up(void *where, const char *name, const char *version)
{
        return (Elf64_Addr)(version ? dlvsym(where, name, version) : dlsym(where, name));
}

/* Resolves one call. The slot of a function that was not called yet points into the object's own text, to the
 * code that calls the linker. */
static void bind_call(const struct object *o, const Elf64_Rela *call)
{
        const size_t index = ELF64_R_SYM(call->r_info);
        const Elf64_Sym *symbol = &o->symbols[index];
        Elf64_Addr *slot = (Elf64_Addr *)(o->base + call->r_offset);
        if (!o->strings || ELF64_R_TYPE(call->r_info) != JUMP_SLOT || symbol->st_shndx != SHN_UNDEF ||
            !is_own_text(o, *slot))
                return;
        const char *name = o->strings + symbol->st_name, *version = version_of(o, index);
        Elf64_Addr function = look_up(EVERYWHERE, name, version);
        /* A program that compares addresses of functions has its own entry for each of them. */
        if (is_own_text(o, function))
                function = look_up(BEHIND_US, name, version);
        if (function && !is_own_text(o, function))
                *slot = function;
}

static int bind_object(struct dl_phdr_info *info, size_t size, void *unused)
{
        struct object o = {.base = info->dlpi_addr};
        const Elf64_Dyn *dynamic = 0;
        (void)size;
        (void)unused;
        for (unsigned i = 0; i < info->dlpi_phnum; i++) {
                const Elf64_Phdr *part = &info->dlpi_phdr[i];
                if (part->p_type == PT_DYNAMIC)
                        dynamic = (const void *)(o.base + part->p_vaddr);
                if (part->p_type == PT_LOAD && part->p_flags & PF_X) {
                        o.text = o.base + part->p_vaddr;
                        o.text_end = o.text + part->p_memsz;
                }
        }
        if (dynamic)
                read_dynamic(&o, dynamic);
        if (o.is_bound || !o.calls || !o.symbols)
                return 0;
        for (size_t i = 0; i < o.n_calls; i++)
                bind_call(&o, &o.calls[i]);
        return 0;
}

void bind_functions(void)
{
        if (dl_iterate_phdr && dlvsym && dlsym)
                dl_iterate_phdr(bind_object, 0);
}
