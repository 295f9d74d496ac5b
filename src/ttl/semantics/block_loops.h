/* The loops of block_math.c. Included once for each instruction set; no guard: that is the point.

   SET is its name, VECTOR the number of f32 in a register, IN(name) the name of a function for it. With
   fused_multiply_add() there are matrix products, too, with store_past_caches() copies that leave the
   caches alone. */

typedef float IN(Values) __attribute__((vector_size(4 * VECTOR), aligned(4), may_alias));

static void IN(widen)(const uint16_t *restrict from, float *restrict to, npy_intp count) {
    for (npy_intp i = 0; i < count; i++) to[i] = widened_word(from[i]);
}

/* -0 becomes 0, as on the way to registers of 32 bits */
static void IN(widen_without_sign)(const uint16_t *restrict from, float *restrict to, npy_intp count) {
    for (npy_intp i = 0; i < count; i++) to[i] = widened_word(from[i]) + 0.0f;
}

static void IN(narrow)(const float *restrict from, uint16_t *restrict to, npy_intp count) {
    for (npy_intp i = 0; i < count; i++) to[i] = narrowed(from[i]);
}

static void IN(round_all)(float *values, npy_intp count) {
    for (npy_intp i = 0; i < count; i++) values[i] = widened_word(narrowed(values[i]));
}

static void IN(flush_all)(float *values, npy_intp count) {
    for (npy_intp i = 0; i < count; i++) values[i] = values[i] < 0x1p-126f ? 0.0f : values[i];
}

static void IN(fill_all)(uint16_t *words, uint16_t word, npy_intp count) {
    for (npy_intp i = 0; i < count; i++) words[i] = word;
}

static int IN(is_nan_among)(const float *values, npy_intp count) {
    int found = 0;
    for (npy_intp i = 0; i < count; i++) found |= values[i] != values[i];
    return found;
}

static float IN(largest_of)(const float *values, npy_intp count) {
    int32_t most = place_of(values[0]);
    for (npy_intp i = 1; i < count; i++) {
        int32_t place = place_of(values[i]);
        most = most > place ? most : place;
    }
    return at_place(most);
}

/* the columns of all tiles, one tile after the other */
static void IN(add_columns)(const float *restrict values, npy_intp count, double *restrict sums) {
    for (npy_intp i = 0; i < count; i += TILE)
        for (int lane = 0; lane < TILE; lane++) sums[lane] += (double)values[i + lane];
}

/* these in halves */
static double IN(total_of)(double *sums) {
    for (int lane = 0; lane < TILE / 2; lane++) sums[lane] += sums[lane + TILE / 2];
    for (int lane = 0; lane < TILE / 4; lane++) sums[lane] += sums[lane + TILE / 4];
    for (int lane = 0; lane < TILE / 8; lane++) sums[lane] += sums[lane + TILE / 8];
    for (int lane = 0; lane < TILE / 16; lane++) sums[lane] += sums[lane + TILE / 16];
    sums[0] += sums[1];
    return sums[0] == sums[0] ? sums[0] : NAN;
}

/* Elements along both rows, or one of them has one. */
#define ROW_LOOPS(name, result)                                                                    \
    static void IN(name##_all)(const float *a, const float *b, float *restrict to, npy_intp count) { \
        for (npy_intp i = 0; i < count; i++) {                                                     \
            float x = a[i], y = b[i];                                                              \
            to[i] = result;                                                                        \
        }                                                                                          \
    }                                                                                              \
    static void IN(name##_by)(const float *a, const float *b, float *restrict to, npy_intp count) { \
        float y = *b;                                                                              \
        for (npy_intp i = 0; i < count; i++) {                                                     \
            float x = a[i];                                                                        \
            to[i] = result;                                                                        \
        }                                                                                          \
    }                                                                                              \
    static void IN(name##_of)(const float *a, const float *b, float *restrict to, npy_intp count) { \
        float x = *a;                                                                              \
        for (npy_intp i = 0; i < count; i++) {                                                     \
            float y = b[i];                                                                        \
            to[i] = result;                                                                        \
        }                                                                                          \
    }
OPERATIONS_ON_ROWS(ROW_LOOPS)
#undef ROW_LOOPS

/* Rows of whole lines of the cache. They lie in pages of their own, so the processor does not
   foresee where the next one is. */
static void IN(copy_rows)(
    const char *from, npy_intp from_pitch, char *to, npy_intp to_pitch, npy_intp rows, npy_intp size
) {
    const npy_intp ahead = size < AHEAD ? AHEAD / size : 1;
    for (npy_intp row = 0; row < ahead && row < rows; row++)
        for (npy_intp i = 0; i < size; i += LINE) __builtin_prefetch(from + row * from_pitch + i);
    for (npy_intp row = 0; row < rows; row++, from += from_pitch, to += to_pitch) {
        if (row + ahead < rows)
            for (npy_intp i = 0; i < size; i += LINE)
                __builtin_prefetch(from + ahead * from_pitch + i);
        for (npy_intp i = 0; i < size; i += LINE) memcpy(to + i, from + i, LINE);
    }
}

/* The same to memory that is in no cache, past all of them. */
static void IN(stream_rows)(
    const char *from, npy_intp from_pitch, char *to, npy_intp to_pitch, npy_intp rows, npy_intp size
) {
#ifdef store_past_caches
    for (npy_intp row = 0; row < rows; row++, from += from_pitch, to += to_pitch)
        for (npy_intp i = 0; i < size; i += 4 * VECTOR) store_past_caches(to + i, from + i);
    _mm_sfence(); /* whoever is told that the rows are there reads them */
#else
    IN(copy_rows)(from, from_pitch, to, to_pitch, rows, size);
#endif
}

#ifdef fused_multiply_add
enum { IN(VECTORS) = 2, IN(ROWS) = VECTOR / 2, IN(WIDTH) = 2 * VECTOR };

/* Some rows of a product with WIDTH columns. Each sum goes over k in order, and has one rounding for a
   product and the sum that takes it: the bits do not depend on how many are made at once. */
static void IN(multiply_rows)(
    const Factor *a, npy_intp row, const float *panel, float *restrict to, npy_intp pitch
) {
    IN(Values) sums[IN(ROWS)][IN(VECTORS)] = {0};
    const float *from = a->values + row * a->row_step;
    for (npy_intp k = 0; k < a->columns; k++, panel += TILE, from += a->column_step)
        for (int n = 0; n < IN(ROWS); n++)
            for (int i = 0; i < IN(VECTORS); i++)
                sums[n][i] = fused_multiply_add(
                    from[n * a->row_step], *(const IN(Values) *)(panel + i * VECTOR), sums[n][i]);
    for (int n = 0; n < IN(ROWS); n++)
        for (int i = 0; i < IN(VECTORS); i++)
            *(IN(Values) *)(to + n * pitch + i * VECTOR) = sums[n][i];
}

/* One panel of the right factor, TILE columns. */
static void IN(multiply)(const Factor *a, const float *panel, float *to, npy_intp pitch) {
    for (npy_intp row = 0; row < a->rows; row += IN(ROWS))
        for (int column = 0; column < TILE; column += IN(WIDTH))
            IN(multiply_rows)(a, row, panel + column, to + row * pitch + column, pitch);
}
#else
#define NO_PRODUCTS
#endif

static const Loops IN(loops) = {
    .name = TEXT(SET),
    .widen = IN(widen),
    .widen_without_sign = IN(widen_without_sign),
    .narrow = IN(narrow),
    .round_all = IN(round_all),
    .flush_all = IN(flush_all),
    .fill_all = IN(fill_all),
    .is_nan_among = IN(is_nan_among),
    .largest_of = IN(largest_of),
    .add_columns = IN(add_columns),
    .total_of = IN(total_of),
    .copy_rows = IN(copy_rows),
    .stream_rows = IN(stream_rows),
#ifndef NO_PRODUCTS
    .multiply = IN(multiply),
#endif
#define ROW_LOOPS(name, result) {IN(name##_all), IN(name##_by), IN(name##_of)},
    .on_rows = {OPERATIONS_ON_ROWS(ROW_LOOPS)},
#undef ROW_LOOPS
};
#undef NO_PRODUCTS
#undef VECTOR
#undef SET
#undef fused_multiply_add
#undef store_past_caches
