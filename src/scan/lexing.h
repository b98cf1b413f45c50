/* scan/lexing.h -- included before the parser of a grammar, which was generated: its lexer goes from one
 * character to the next, and marks where a token ends, by itself where that is simple, instead of by a call.
 *
 * It is simple where a character has one byte, the next one, too, and both are in the piece of the text that
 * was read; all else is left to tree-sitter. */
#pragma once
#include <lexer.h> /* tree-sitter's own */

/* Whether it is done. */
static inline bool lexing_advance(Lexer *self, bool skip)
{
        const uint32_t next = self->current_position.bytes + 1, at = next - self->chunk_start;
        if (!self->chunk || at >= self->chunk_size || self->lookahead_size != 1 ||
            self->data.lookahead == '\n' || (unsigned char)self->chunk[at] >= 0x80 ||
            self->included_range_count != 1 || next >= self->included_ranges[0].end_byte || self->logger.log)
                return false;
        self->column_data.value += self->column_data.valid;
        self->current_position.extent.column++;
        self->current_position.bytes = next;
        if (skip)
                self->token_start_position = self->current_position;
        self->data.lookahead = (unsigned char)self->chunk[at];
        return true;
}

static inline bool lexing_mark_end(Lexer *self)
{
        if (self->included_range_count != 1)
                return false;
        self->token_end_position = self->current_position;
        return true;
}

#undef START_LEXER
#define START_LEXER()                                                                                        \
        bool result = false, skip = false;                                                                   \
        UNUSED bool eof = false;                                                                             \
        int32_t lookahead;                                                                                   \
        goto start;                                                                                          \
        next_state:                                                                                          \
        if (!lexing_advance((Lexer *)lexer, skip))                                                           \
                lexer->advance(lexer, skip);                                                                 \
        start:                                                                                               \
        skip = false;                                                                                        \
        lookahead = lexer->lookahead;

#undef ACCEPT_TOKEN
#define ACCEPT_TOKEN(symbol)                                                                                 \
        result = true;                                                                                       \
        lexer->result_symbol = symbol;                                                                       \
        if (!lexing_mark_end((Lexer *)lexer))                                                                \
                lexer->mark_end(lexer);
