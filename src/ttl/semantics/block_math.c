/* The simulator's arithmetic on whole blocks: what numpy would do in several passes, in one.

   Each function returns None where it does not apply; then numpy does it, with the same bits:
   tests/unit/semantics/test_block_math.py compares them. So sums are not contracted (the build sets
   -ffp-contract=off), and a loop does the same on every processor.

   Arrays are f32, or bfloat16 as ml_dtypes stores it: numpy knows that type as one of a user. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "numpy_arrays.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { TILE = 32, CHUNK = 1024, MOST_DIMS = 8 };
enum { LINE = 64, AHEAD = 32 * LINE, FAR_BYTES = 16 << 20 }; /* of the cache */

typedef struct {
    const char *data;
    npy_intp rows, columns; /* 1 where the value is the same along it */
    int is_bfloat16;
} Operand;

/* Numbers ------------------------------------------------------------------------------------- */

static inline float as_float(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t as_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* rule NAN of special_values.py */
static inline float computed(float value) { return value == value ? value : NAN; }

/* To the nearest, ties to even; a NaN keeps its sign only. */
static inline uint16_t narrowed(float value) {
    uint32_t bits = as_bits(value);
    uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    uint32_t nan = ((bits >> 16) & 0x8000) | 0x7fc0;
    return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? nan : rounded);
}

/* Integers in the order of the floats, and back: rule ORDER of special_values.py. */
static inline int32_t place_of(float value) {
    int32_t bits = (int32_t)as_bits(value);
    return bits ^ ((bits >> 31) & 0x7fffffff);
}

static inline float at_place(int32_t place) {
    return as_float((uint32_t)(place ^ ((place >> 31) & 0x7fffffff)));
}

static inline int32_t larger_place(int32_t a, int32_t b) { return a > b ? a : b; }

static inline float larger(float x, float y) {
    return at_place(larger_place(place_of(x), place_of(y)));
}

static inline float smaller(float x, float y) {
    int32_t a = place_of(x), b = place_of(y);
    return at_place(a < b ? a : b);
}

/* Loops --------------------------------------------------------------------------------------- */

static inline float widened_word(uint16_t word) { return as_float((uint32_t)word << 16); }

/* In the order of OPERATIONS in block_math.py, which ends with the matrix product. */
#define OPERATIONS_ON_ROWS(ROWS)                                                                   \
    ROWS(add, computed(x + y))                                                                     \
    ROWS(sub, computed(x - y))                                                                     \
    ROWS(mul, computed(x * y))                                                                     \
    ROWS(div, computed(x / y))                                                                     \
    ROWS(max, larger(x, y))                                                                        \
    ROWS(min, smaller(x, y))                                                                       \
    ROWS(narrow_mul, x == 0.0f || y == 0.0f ? 0.0f : computed(x * y + 0.0f))

#define ONE(name, result) +1
enum { OPERATIONS = 0 OPERATIONS_ON_ROWS(ONE), PRODUCT = OPERATIONS };

typedef void Loop(const float *, const float *, float *, npy_intp);

/* The left factor of a product, its rows and columns so many numbers apart. */
typedef struct {
    const float *values;
    npy_intp rows, columns, row_step, column_step;
} Factor;

/* What block_loops.h has for an instruction set. */
typedef struct {
    const char *name;
    void (*widen)(const uint16_t *, float *, npy_intp);
    void (*widen_without_sign)(const uint16_t *, float *, npy_intp);
    void (*narrow)(const float *, uint16_t *, npy_intp);
    void (*round_all)(float *, npy_intp);
    void (*flush_all)(float *, npy_intp);
    void (*fill_all)(uint16_t *, uint16_t, npy_intp);
    int (*is_nan_among)(const float *, npy_intp);
    float (*largest_of)(const float *, npy_intp);
    void (*add_columns)(const float *, npy_intp, double *);
    double (*total_of)(double *);
    void (*copy_rows)(const char *, npy_intp, char *, npy_intp, npy_intp, npy_intp);
    void (*stream_rows)(const char *, npy_intp, char *, npy_intp, npy_intp, npy_intp);
    void (*multiply)(const Factor *, const float *, float *, npy_intp); /* NULL: without fused sums */
    Loop *on_rows[OPERATIONS][3];
} Loops;

#define IN(name) PASTED(name, SET)
#define PASTED(name, set) PASTED_AGAIN(name, set)
#define PASTED_AGAIN(name, set) name##_##set
#define TEXT(word) TEXT_AGAIN(word)
#define TEXT_AGAIN(word) #word

#define VECTOR 4
#define SET portable
#include "block_loops.h"

#if defined(__x86_64__)
#if defined(__clang__)
#define BEGIN_TARGET(name) \
    PRAGMA(clang attribute push(__attribute__((target(name))), apply_to = function))
#define END_TARGET PRAGMA(clang attribute pop)
#else
#define BEGIN_TARGET(name) PRAGMA(GCC push_options) PRAGMA(GCC target(name))
#define END_TARGET PRAGMA(GCC pop_options)
#endif
#define PRAGMA(text) _Pragma(#text)

BEGIN_TARGET("avx2,fma")
#define VECTOR 8
#define SET avx2
#define fused_multiply_add(a, b, c) _mm256_fmadd_ps(_mm256_set1_ps(a), b, c)
#define store_past_caches(to, from) \
    _mm256_stream_si256((__m256i *)(to), _mm256_loadu_si256((const __m256i *)(from)))
#include "block_loops.h"
END_TARGET

#if defined(__clang__) /* it takes the width from the loops */
BEGIN_TARGET("avx512f,avx512bw,avx512dq,avx512vl")
#else
BEGIN_TARGET("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")
#endif
#define VECTOR 16
#define SET avx512
#define fused_multiply_add(a, b, c) _mm512_fmadd_ps(_mm512_set1_ps(a), b, c)
#define store_past_caches(to, from) \
    _mm512_stream_si512((__m512i *)(to), _mm512_loadu_si512((const void *)(from)))
#include "block_loops.h"
END_TARGET
#endif

static const Loops *loops = &loops_portable;

static int has_avx2(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return 0;
#endif
}

static int has_avx512(void) {
#if defined(__x86_64__)
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#else
    return 0;
#endif
}

/* The best ones up to these that the processor has. */
static void choose_loops(const char *best) {
    loops = &loops_portable;
#if defined(__x86_64__)
    if (strcmp(best, loops->name) != 0 && has_avx2()) loops = &loops_avx2;
    if (strcmp(best, loops_avx512.name) == 0 && has_avx512()) loops = &loops_avx512;
#endif
}

/* Arrays -------------------------------------------------------------------------------------- */

static int is_bfloat16(PyArrayObject *array) {
    return PyArray_TYPE(array) >= NPY_USERDEF && PyArray_ITEMSIZE(array) == 2;
}

/* The array of an argument if its elements lie one after the other, as C has them, else NULL. */
static PyArrayObject *whole(PyObject *argument) {
    if (!PyArray_Check(argument)) return NULL;
    PyArrayObject *array = (PyArrayObject *)argument;
    return PyArray_ISCARRAY_RO(array) ? array : NULL;
}

/* The same for one that is written. */
static PyArrayObject *whole_target(PyObject *argument) {
    PyArrayObject *array = whole(argument);
    return array && PyArray_ISWRITEABLE(array) ? array : NULL;
}

static PyArrayObject *if_single(PyArrayObject *array) {
    return array && PyArray_TYPE(array) == NPY_FLOAT32 ? array : NULL;
}

static PyObject *does_not_apply(void) { return PyErr_Occurred() ? NULL : Py_NewRef(Py_None); }

/* As rows and columns; all dimensions but the last one must be there or be missing together. */
static int find_operand(PyArrayObject *array, npy_intp rows, npy_intp columns, Operand *operand) {
    npy_intp count = PyArray_SIZE(array);
    int dims = PyArray_NDIM(array);
    npy_intp last = dims ? PyArray_DIM(array, dims - 1) : 1;
    operand->is_bfloat16 = is_bfloat16(array);
    if (!operand->is_bfloat16 && PyArray_TYPE(array) != NPY_FLOAT32) return 0;
    operand->data = PyArray_BYTES(array);
    operand->columns = last;
    operand->rows = last ? count / last : 0;
    return (last == columns || last == 1) && (operand->rows == rows || operand->rows == 1);
}

/* A run of elements as f32, where they are or in `space`. */
static const float *values_at(
    const Operand *operand, npy_intp row, npy_intp column, npy_intp count, int adds_zero, float *space
) {
    npy_intp at = (operand->rows == 1 ? 0 : row) * operand->columns;
    if (operand->columns == 1) count = 1;
    else at += column;
    if (!operand->is_bfloat16) return (const float *)operand->data + at;
    const uint16_t *from = (const uint16_t *)operand->data + at;
    if (adds_zero) loops->widen_without_sign(from, space, count);
    else loops->widen(from, space, count);
    return space;
}

static void compute(
    const Operand *a, const Operand *b, float *to, npy_intp rows, npy_intp columns, int operation,
    int rounds
) {
    float space_of_a[CHUNK], space_of_b[CHUNK];
    int is_by = b->columns == 1 && columns > 1, is_of = a->columns == 1 && columns > 1;
    Loop *loop = loops->on_rows[operation][is_by ? 1 : is_of ? 2 : 0];
    for (npy_intp row = 0; row < rows; row++)
        for (npy_intp column = 0; column < columns; column += CHUNK) {
            npy_intp count = columns - column < CHUNK ? columns - column : CHUNK;
            const float *x = values_at(a, row, column, count, !rounds, space_of_a);
            const float *y = values_at(b, row, column, count, !rounds, space_of_b);
            loop(x, y, to, count);
            if (rounds) loops->round_all(to, count);
            to += count;
        }
}

/* Functions of the module --------------------------------------------------------------------- */

/* Space for factors of products; calls hold the lock of the interpreter. */
static float *space_for(npy_intp count) {
    static float *space;
    static npy_intp size;
    if (count > size) {
        free(space);
        size = 0;
        space = aligned_alloc(LINE, (count * sizeof *space + LINE - 1) / LINE * LINE);
        if (!space) PyErr_NoMemory();
        else size = count;
    }
    return space;
}

/* A matrix of f32 in any order, or of bfloat16 row by row, else NULL. */
static PyArrayObject *matrix(PyObject *argument) {
    if (!PyArray_Check(argument)) return NULL;
    PyArrayObject *array = (PyArrayObject *)argument;
    if (PyArray_NDIM(array) != 2 || !PyArray_ISBEHAVED_RO(array)) return NULL;
    if (PyArray_TYPE(array) == NPY_FLOAT32) return array;
    return is_bfloat16(array) && whole(argument) ? array : NULL;
}

static Factor factor_of(PyArrayObject *array, float *space) {
    npy_intp rows = PyArray_DIM(array, 0), columns = PyArray_DIM(array, 1);
    const npy_intp step = sizeof(float);
    if (!is_bfloat16(array))
        return (Factor){(const float *)PyArray_DATA(array), rows, columns,
                        PyArray_STRIDE(array, 0) / step, PyArray_STRIDE(array, 1) / step};
    loops->widen((const uint16_t *)PyArray_DATA(array), space, rows * columns);
    return (Factor){space, rows, columns, columns, 1};
}

/* TILE columns of the right factor, from this one on, row after row. */
static void take_panel(PyArrayObject *array, npy_intp column, float *panel) {
    npy_intp rows = PyArray_DIM(array, 0), pitch = PyArray_STRIDE(array, 0);
    npy_intp step = PyArray_STRIDE(array, 1);
    const char *from = PyArray_BYTES(array) + column * step;
    for (npy_intp row = 0; row < rows; row++, from += pitch, panel += TILE) {
        if (is_bfloat16(array)) loops->widen((const uint16_t *)from, panel, TILE);
        else if (step == sizeof(float)) memcpy(panel, from, TILE * sizeof(float));
        else for (int i = 0; i < TILE; i++) panel[i] = *(const float *)(from + i * step);
    }
}

/* binary() of two matrices */
static PyObject *product(PyObject *left_factor, PyObject *right_factor, int rounds) {
    PyArrayObject *a = matrix(left_factor), *b = matrix(right_factor);
    if (!a || !b || !loops->multiply) Py_RETURN_NONE;
    npy_intp shape[] = {PyArray_DIM(a, 0), PyArray_DIM(b, 1)}, inner = PyArray_DIM(a, 1);
    if (!inner || PyArray_DIM(b, 0) != inner || shape[0] % TILE || shape[1] % TILE) Py_RETURN_NONE;
    float *panel = space_for((shape[0] + TILE) * inner);
    PyObject *made = panel ? PyArray_SimpleNew(2, shape, NPY_FLOAT32) : NULL;
    if (!made) return NULL;
    float *to = (float *)PyArray_DATA((PyArrayObject *)made);
    Factor left = factor_of(a, panel + TILE * inner);
    for (npy_intp column = 0; column < shape[1]; column += TILE) {
        take_panel(b, column, panel);
        loops->multiply(&left, panel, to + column, shape[1]);
    }
    npy_intp count = shape[0] * shape[1];
    if (loops->is_nan_among(to, count))
        for (npy_intp i = 0; i < count; i++) to[i] = computed(to[i]);
    if (rounds) loops->round_all(to, count);
    return made;
}

static PyArrayObject *larger_array(PyArrayObject *a, PyArrayObject *b) {
    return PyArray_SIZE(a) >= PyArray_SIZE(b) ? a : b;
}

/* The shape that both have together is that of one of them, and both have as many dimensions. */
static int has_shape_of(PyArrayObject *array, PyArrayObject *part) {
    int dims = PyArray_NDIM(array), others = PyArray_NDIM(part);
    if (others == 0) return 1;
    if (dims != others || dims > MOST_DIMS) return 0;
    int is_equal = 1, is_one = 1; /* in all dimensions but the last one */
    for (int dim = 0; dim < dims - 1; dim++) {
        is_equal &= PyArray_DIM(part, dim) == PyArray_DIM(array, dim);
        is_one &= PyArray_DIM(part, dim) == 1;
    }
    return is_equal || is_one;
}

/* binary(operation, a, b, rounds): a new array; with `rounds`, of numbers that bfloat16 has, else
   operands in bfloat16 lose the sign of zeros. */
static PyObject *binary(PyObject *module, PyObject *const *arguments, Py_ssize_t given) {
    if (given != 4) return PyErr_Format(PyExc_TypeError, "binary() takes 4 arguments");
    long operation = PyLong_AsLong(arguments[0]);
    int rounds = PyObject_IsTrue(arguments[3]);
    if (operation == PRODUCT) return product(arguments[1], arguments[2], rounds);
    PyArrayObject *a = whole(arguments[1]), *b = whole(arguments[2]);
    if (operation < 0 || operation >= OPERATIONS || !a || !b) return does_not_apply();
    PyArrayObject *all = larger_array(a, b);
    if (!has_shape_of(all, all == a ? b : a) || !PyArray_NDIM(all)) Py_RETURN_NONE;
    npy_intp columns = PyArray_DIM(all, PyArray_NDIM(all) - 1);
    npy_intp rows = columns ? PyArray_SIZE(all) / columns : 0;
    Operand x, y;
    if (!find_operand(a, rows, columns, &x) || !find_operand(b, rows, columns, &y)) Py_RETURN_NONE;
    if (x.rows == rows && y.rows == rows && x.columns == y.columns) { /* one long row */
        x.columns = y.columns = columns = rows * columns;
        x.rows = y.rows = rows = 1;
    }
    PyObject *made = PyArray_SimpleNew(PyArray_NDIM(all), PyArray_DIMS(all), NPY_FLOAT32);
    if (!made) return NULL;
    float *to = (float *)PyArray_DATA((PyArrayObject *)made);
    compute(&x, &y, to, rows, columns, (int)operation, rounds);
    return made;
}

/* widened(block, values, adds_zero): True once the f32 `values` are those of the bfloat16 block. */
static PyObject *widened(PyObject *module, PyObject *const *arguments, Py_ssize_t given) {
    if (given != 3) return PyErr_Format(PyExc_TypeError, "widened() takes 3 arguments");
    PyArrayObject *block = whole(arguments[0]), *values = if_single(whole_target(arguments[1]));
    if (!block || !values || !is_bfloat16(block)) Py_RETURN_NONE;
    npy_intp count = PyArray_SIZE(block);
    if (PyArray_SIZE(values) != count) Py_RETURN_NONE;
    const uint16_t *from = (const uint16_t *)PyArray_DATA(block);
    float *to = (float *)PyArray_DATA(values);
    if (PyObject_IsTrue(arguments[2])) loops->widen_without_sign(from, to, count);
    else loops->widen(from, to, count);
    Py_RETURN_TRUE;
}

/* stored(values, block): True once the bfloat16 block has the f32 values, rounded. */
static PyObject *stored(PyObject *module, PyObject *const *arguments, Py_ssize_t given) {
    if (given != 2) return PyErr_Format(PyExc_TypeError, "stored() takes 2 arguments");
    PyArrayObject *values = if_single(whole(arguments[0])), *block = whole_target(arguments[1]);
    if (!block || !values || !is_bfloat16(block) || !PyArray_SAMESHAPE(values, block))
        Py_RETURN_NONE;
    loops->narrow((const float *)PyArray_DATA(values), (uint16_t *)PyArray_DATA(block),
           PyArray_SIZE(values));
    Py_RETURN_TRUE;
}

/* filled(words, word): True once each of the words, of 2 bytes, is this one. */
static PyObject *filled(PyObject *module, PyObject *const *arguments, Py_ssize_t given) {
    if (given != 2) return PyErr_Format(PyExc_TypeError, "filled() takes 2 arguments");
    PyArrayObject *words = whole_target(arguments[0]);
    if (!words || PyArray_ITEMSIZE(words) != 2) Py_RETURN_NONE;
    unsigned long word = PyLong_AsUnsignedLong(arguments[1]);
    if (PyErr_Occurred()) return NULL;
    loops->fill_all((uint16_t *)PyArray_DATA(words), (uint16_t)word, PyArray_SIZE(words));
    Py_RETURN_TRUE;
}

/* The first byte of the tiles that `block` has room for, from a tile of a matrix on; NULL if that
   is not all inside, or not of one type. */
static char *tiles_at(PyArrayObject *matrix, PyObject *starts, PyArrayObject *block) {
    if (!matrix || !block || PyArray_NDIM(matrix) != 2 || PyArray_NDIM(block) != 2) return NULL;
    if (PyArray_ITEMSIZE(matrix) != PyArray_ITEMSIZE(block)) return NULL;
    if (!PyTuple_Check(starts) || PyTuple_GET_SIZE(starts) != 2) return NULL;
    npy_intp row = TILE * PyLong_AsLong(PyTuple_GET_ITEM(starts, 0));
    npy_intp column = TILE * PyLong_AsLong(PyTuple_GET_ITEM(starts, 1));
    if (row < 0 || row + PyArray_DIM(block, 0) > PyArray_DIM(matrix, 0)) return NULL;
    if (column < 0 || column + PyArray_DIM(block, 1) > PyArray_DIM(matrix, 1)) return NULL;
    return (char *)PyArray_GETPTR2(matrix, row, column);
}

/* Not the stride, which a single row may have of any size. */
static npy_intp row_bytes(const PyArrayObject *block) {
    return PyArray_DIM(block, 1) * PyArray_ITEMSIZE(block);
}

/* Between the tiles of a matrix and a block, which has its rows one after the other. `is_far`: what is
   written is too large for the caches. */
static void copy_tiles(
    const char *from, npy_intp from_pitch, char *to, npy_intp to_pitch, PyArrayObject *block, int is_far
) {
    npy_intp rows = PyArray_DIM(block, 0), size = row_bytes(block);
    if (size && size % LINE == 0) {
        int is_streamed = is_far && to_pitch % LINE == 0 && (uintptr_t)to % LINE == 0;
        (is_streamed ? loops->stream_rows : loops->copy_rows)(from, from_pitch, to, to_pitch, rows, size);
        return;
    }
    for (npy_intp row = 0; row < rows; row++)
        memcpy(to + row * to_pitch, from + row * from_pitch, (size_t)size);
}

/* loaded(block, matrix, starts): True once the block has the words of the matrix from this tile. */
static PyObject *loaded(PyObject *module, PyObject *const *arguments, Py_ssize_t given) {
    if (given != 3) return PyErr_Format(PyExc_TypeError, "loaded() takes 3 arguments");
    PyArrayObject *block = whole_target(arguments[0]), *matrix = whole(arguments[1]);
    char *at = tiles_at(matrix, arguments[2], block);
    if (!at) return does_not_apply();
    npy_intp pitch = PyArray_STRIDE(matrix, 0);
    copy_tiles(at, pitch, PyArray_BYTES(block), row_bytes(block), block, 0);
    Py_RETURN_TRUE;
}

/* saved(block, matrix, starts): the other way round. */
static PyObject *saved(PyObject *module, PyObject *const *arguments, Py_ssize_t given) {
    if (given != 3) return PyErr_Format(PyExc_TypeError, "saved() takes 3 arguments");
    PyArrayObject *block = whole(arguments[0]), *matrix = whole_target(arguments[1]);
    char *at = tiles_at(matrix, arguments[2], block);
    if (!at) return does_not_apply();
    npy_intp pitch = PyArray_STRIDE(matrix, 0);
    int is_far = PyArray_DIM(matrix, 0) * pitch > FAR_BYTES;
    copy_tiles(PyArray_BYTES(block), row_bytes(block), at, pitch, block, is_far);
    Py_RETURN_TRUE;
}

/* A box of a map, which has a small number for each unit of a tensor. */
typedef struct {
    char *first;
    int dims, item;
    npy_intp rows, sizes[MOST_DIMS];
    const npy_intp *strides;
} Box;

/* Its place in the map; 0 without an error: does not apply, or is not all inside. */
static int find_box(PyObject *argument, PyObject *starts, PyObject *sizes, Box *box) {
    PyArrayObject *map = whole_target(argument);
    if (!map || !PyTuple_Check(starts) || !PyTuple_Check(sizes)) return 0;
    box->dims = PyArray_NDIM(map);
    box->item = (int)PyArray_ITEMSIZE(map);
    if (box->dims < 1 || box->dims > MOST_DIMS || box->item > 2) return 0;
    if (PyTuple_GET_SIZE(starts) != box->dims || PyTuple_GET_SIZE(sizes) != box->dims) return 0;
    box->first = PyArray_BYTES(map);
    box->strides = PyArray_STRIDES(map);
    box->rows = 1;
    for (int dim = 0; dim < box->dims; dim++) {
        npy_intp start = PyLong_AsSsize_t(PyTuple_GET_ITEM(starts, dim));
        npy_intp size = box->sizes[dim] = PyLong_AsSsize_t(PyTuple_GET_ITEM(sizes, dim));
        if (start < 0 || size < 1 || size > PyArray_DIM(map, dim) - start) return 0;
        box->first += start * box->strides[dim];
        if (dim < box->dims - 1) box->rows *= size;
    }
    return 1;
}

static char *row_of(const Box *box, npy_intp row) {
    char *at = box->first;
    for (int dim = box->dims - 2; dim >= 0; dim--) {
        at += row % box->sizes[dim] * box->strides[dim];
        row /= box->sizes[dim];
    }
    return at;
}

static int is_clear(const Box *box) {
    npy_intp bytes = box->sizes[box->dims - 1] * box->item;
    for (npy_intp row = 0; row < box->rows; row++) {
        const char *at = row_of(box, row);
        for (npy_intp i = 0; i < bytes; i++)
            if (at[i]) return 0;
    }
    return 1;
}

static void mark_box(const Box *box, long number) {
    npy_intp count = box->sizes[box->dims - 1];
    for (npy_intp row = 0; row < box->rows; row++) {
        char *at = row_of(box, row);
        for (npy_intp i = 0; i < count; i++) {
            if (box->item == 2) ((uint16_t *)at)[i] = (uint16_t)number;
            else ((uint8_t *)at)[i] = (uint8_t)number;
        }
    }
}

/* marked(map, starts, sizes, number): True once all units of the box have the number. */
static PyObject *marked(PyObject *module, PyObject *const *arguments, Py_ssize_t given) {
    if (given != 4) return PyErr_Format(PyExc_TypeError, "marked() takes 4 arguments");
    Box box;
    long number = PyLong_AsLong(arguments[3]);
    if (!find_box(arguments[0], arguments[1], arguments[2], &box)) return does_not_apply();
    if (PyErr_Occurred()) return NULL;
    mark_box(&box, number);
    Py_RETURN_TRUE;
}

/* claimed(map, starts, sizes, number): the same if all of them were 0 before, else False. */
static PyObject *claimed(PyObject *module, PyObject *const *arguments, Py_ssize_t given) {
    if (given != 4) return PyErr_Format(PyExc_TypeError, "claimed() takes 4 arguments");
    Box box;
    long number = PyLong_AsLong(arguments[3]);
    if (!find_box(arguments[0], arguments[1], arguments[2], &box)) return does_not_apply();
    if (PyErr_Occurred()) return NULL;
    if (!is_clear(&box)) Py_RETURN_FALSE;
    mark_box(&box, number);
    Py_RETURN_TRUE;
}

/* flushed(values): True once the f32 values below the least normal number are 0. */
static PyObject *flushed(PyObject *module, PyObject *argument) {
    PyArrayObject *values = if_single(whole_target(argument));
    if (!values) Py_RETURN_NONE;
    loops->flush_all((float *)PyArray_DATA(values), PyArray_SIZE(values));
    Py_RETURN_TRUE;
}

/* has_nan(values): is one of these f32 values, in whichever order they lie, a NaN? */
static PyObject *has_nan(PyObject *module, PyObject *argument) {
    if (!PyArray_Check(argument)) Py_RETURN_NONE;
    PyArrayObject *values = (PyArrayObject *)argument;
    if (PyArray_TYPE(values) != NPY_FLOAT32 || !PyArray_ISONESEGMENT(values) ||
        !PyArray_ISBEHAVED_RO(values))
        Py_RETURN_NONE;
    return PyBool_FromLong(loops->is_nan_among((const float *)PyArray_DATA(values), PyArray_SIZE(values)));
}

/* An array for one number of each row, and how many rows; NULL without an error: does not apply. */
static PyArrayObject *of_rows(PyArrayObject *values, int type, npy_intp *rows) {
    int dims = values ? PyArray_NDIM(values) : 0;
    if (!dims || dims > MOST_DIMS || !PyArray_SIZE(values)) return NULL;
    npy_intp shape[MOST_DIMS];
    memcpy(shape, PyArray_DIMS(values), dims * sizeof *shape);
    *rows = PyArray_SIZE(values) / shape[dims - 1];
    shape[dims - 1] = 1;
    return (PyArrayObject *)PyArray_SimpleNew(dims, shape, type);
}

/* row_max(values): the largest of each row, by rule ORDER of special_values.py. */
static PyObject *row_max(PyObject *module, PyObject *argument) {
    PyArrayObject *values = if_single(whole(argument));
    npy_intp rows;
    PyArrayObject *made = of_rows(values, NPY_FLOAT32, &rows);
    if (!made) return does_not_apply();
    npy_intp columns = PyArray_SIZE(values) / rows;
    const float *from = (const float *)PyArray_DATA(values);
    float *to = (float *)PyArray_DATA(made);
    for (npy_intp row = 0; row < rows; row++) to[row] = loops->largest_of(from + row * columns, columns);
    return (PyObject *)made;
}

/* row_sum(values): the sum of each row in doubles, as row_sum() of block_math.py orders it. */
static PyObject *row_sum(PyObject *module, PyObject *argument) {
    PyArrayObject *values = if_single(whole(argument));
    npy_intp rows;
    if (values && PyArray_NDIM(values) && PyArray_DIM(values, PyArray_NDIM(values) - 1) % TILE)
        Py_RETURN_NONE;
    PyArrayObject *made = of_rows(values, NPY_FLOAT64, &rows);
    if (!made) return does_not_apply();
    npy_intp columns = PyArray_SIZE(values) / rows;
    const float *from = (const float *)PyArray_DATA(values);
    double *to = (double *)PyArray_DATA(made);
    for (npy_intp row = 0; row < rows; row++) {
        double sums[TILE] = {0};
        loops->add_columns(from + row * columns, columns, sums);
        to[row] = loops->total_of(sums);
    }
    return (PyObject *)made;
}

static npy_intp chunk_at(const Operand *from, npy_intp column) {
    return from->columns - column < CHUNK ? from->columns - column : CHUNK;
}

static float sum_of_row(const Operand *from, npy_intp row, float *space) {
    double sums[TILE] = {0};
    for (npy_intp column = 0; column < from->columns; column += CHUNK) {
        npy_intp count = chunk_at(from, column);
        loops->add_columns(values_at(from, row, column, count, 1, space), count, sums);
    }
    return (float)(loops->total_of(sums) + 0.0);
}

static float largest_of_row(const Operand *from, npy_intp row, float *space) {
    int32_t most = INT32_MIN;
    for (npy_intp column = 0; column < from->columns; column += CHUNK) {
        npy_intp count = chunk_at(from, column);
        float largest = loops->largest_of(values_at(from, row, column, count, 1, space), count);
        most = larger_place(most, place_of(largest));
    }
    return at_place(most) + 0.0f;
}

/* The number of each row in the first column of a tile that is otherwise 0, without a -0. */
static void reduce_rows(const Operand *from, float *to, int is_sum) {
    float space[CHUNK];
    memset(to, 0, from->rows * TILE * sizeof *to);
    for (npy_intp row = 0; row < from->rows; row++, to += TILE)
        *to = is_sum ? sum_of_row(from, row, space) : largest_of_row(from, row, space);
}

/* row_reduced(reduction, values): the maxima or sums of rows, as in registers of 32 bits. */
static PyObject *row_reduced(PyObject *module, PyObject *const *arguments, Py_ssize_t given) {
    if (given != 2) return PyErr_Format(PyExc_TypeError, "row_reduced() takes 2 arguments");
    long reduction = PyLong_AsLong(arguments[0]);
    PyArrayObject *values = whole(arguments[1]);
    if (reduction < 0 || reduction > 1 || !values) return does_not_apply();
    int dims = PyArray_NDIM(values);
    if (dims < 2 || dims > MOST_DIMS || !PyArray_SIZE(values)) Py_RETURN_NONE;
    npy_intp shape[MOST_DIMS], columns = PyArray_DIM(values, dims - 1);
    memcpy(shape, PyArray_DIMS(values), dims * sizeof *shape);
    shape[dims - 1] = TILE;
    Operand from;
    if (columns % TILE || !find_operand(values, PyArray_SIZE(values) / columns, columns, &from))
        Py_RETURN_NONE;
    PyObject *made = PyArray_SimpleNew(dims, shape, NPY_FLOAT32);
    if (!made) return NULL;
    reduce_rows(&from, (float *)PyArray_DATA((PyArrayObject *)made), reduction == 1);
    return made;
}

/* use_loops(name): for tests, which compare the instruction sets. */
static PyObject *use_loops(PyObject *module, PyObject *name) {
    const char *best = PyUnicode_AsUTF8(name);
    if (!best) return NULL;
    choose_loops(best);
    Py_RETURN_NONE;
}

static PyObject *loops_in_use(PyObject *module, PyObject *nothing) {
    return PyUnicode_FromString(loops->name);
}

#define FAST(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, NULL}

static PyMethodDef FUNCTIONS[] = {
    FAST(binary),
    FAST(widened),
    FAST(stored),
    FAST(filled),
    FAST(loaded),
    FAST(saved),
    FAST(marked),
    FAST(claimed),
    FAST(row_reduced),
    {"use_loops", use_loops, METH_O, NULL},
    {"loops_in_use", loops_in_use, METH_NOARGS, NULL},
    {"flushed", flushed, METH_O, NULL},
    {"has_nan", has_nan, METH_O, NULL},
    {"row_max", row_max, METH_O, NULL},
    {"row_sum", row_sum, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT, "_block_math", "Arithmetic on whole blocks.", -1, FUNCTIONS,
};

PyMODINIT_FUNC PyInit__block_math(void) {
    if (!import_array()) return NULL;
    choose_loops("avx512");
    return PyModule_Create(&MODULE);
}
