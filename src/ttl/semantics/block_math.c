/* The simulator's arithmetic on whole blocks: what numpy would do in several passes, in one.

   Each function returns None where it does not apply; then numpy does it, with the same bits:
   tests/unit/semantics/test_block_math.py compares them. So sums are not contracted (the build sets
   -ffp-contract=off), and a loop does the same on every processor.

   Arrays are f32, or bfloat16 as ml_dtypes stores it: numpy knows that type as one of a user. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "numpy_arrays.h"

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#define ON_EACH_PROCESSOR __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define ON_EACH_PROCESSOR
#endif

enum { TILE = 32, CHUNK = 1024, MOST_DIMS = 8 };

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

ON_EACH_PROCESSOR
static void widen(const uint16_t *restrict from, float *restrict to, npy_intp count) {
    for (npy_intp i = 0; i < count; i++) to[i] = as_float((uint32_t)from[i] << 16);
}

ON_EACH_PROCESSOR /* -0 becomes 0, as on the way to registers of 32 bits */
static void widen_without_sign(const uint16_t *restrict from, float *restrict to, npy_intp count) {
    for (npy_intp i = 0; i < count; i++) to[i] = as_float((uint32_t)from[i] << 16) + 0.0f;
}

ON_EACH_PROCESSOR
static void narrow(const float *restrict from, uint16_t *restrict to, npy_intp count) {
    for (npy_intp i = 0; i < count; i++) to[i] = narrowed(from[i]);
}

ON_EACH_PROCESSOR
static void round_all(float *values, npy_intp count) {
    for (npy_intp i = 0; i < count; i++) values[i] = as_float((uint32_t)narrowed(values[i]) << 16);
}

ON_EACH_PROCESSOR
static void flush_all(float *values, npy_intp count) {
    for (npy_intp i = 0; i < count; i++) values[i] = values[i] < 0x1p-126f ? 0.0f : values[i];
}

ON_EACH_PROCESSOR
static int is_nan_among(const float *values, npy_intp count) {
    int found = 0;
    for (npy_intp i = 0; i < count; i++) found |= values[i] != values[i];
    return found;
}

ON_EACH_PROCESSOR
static float largest_of(const float *values, npy_intp count) {
    int32_t most = place_of(values[0]);
    for (npy_intp i = 1; i < count; i++) {
        int32_t place = place_of(values[i]);
        most = most > place ? most : place;
    }
    return at_place(most);
}

ON_EACH_PROCESSOR /* the columns of all tiles, one tile after the other */
static void add_columns(const float *restrict values, npy_intp count, double *restrict sums) {
    for (npy_intp i = 0; i < count; i += TILE)
        for (int lane = 0; lane < TILE; lane++) sums[lane] += (double)values[i + lane];
}

ON_EACH_PROCESSOR /* these in halves */
static double total_of(double *sums) {
    for (int lane = 0; lane < TILE / 2; lane++) sums[lane] += sums[lane + TILE / 2];
    for (int lane = 0; lane < TILE / 4; lane++) sums[lane] += sums[lane + TILE / 4];
    for (int lane = 0; lane < TILE / 8; lane++) sums[lane] += sums[lane + TILE / 8];
    for (int lane = 0; lane < TILE / 16; lane++) sums[lane] += sums[lane + TILE / 16];
    sums[0] += sums[1];
    return sums[0] == sums[0] ? sums[0] : NAN;
}

typedef void Loop(const float *, const float *, float *, npy_intp);

#define LOOPS(name, result)                                                                        \
    ON_EACH_PROCESSOR                                                                              \
    static void name##_all(const float *a, const float *b, float *restrict to, npy_intp count) {   \
        for (npy_intp i = 0; i < count; i++) {                                                     \
            float x = a[i], y = b[i];                                                              \
            to[i] = result;                                                                        \
        }                                                                                          \
    }                                                                                              \
    ON_EACH_PROCESSOR                                                                              \
    static void name##_by(const float *a, const float *b, float *restrict to, npy_intp count) {    \
        float y = *b;                                                                              \
        for (npy_intp i = 0; i < count; i++) {                                                     \
            float x = a[i];                                                                        \
            to[i] = result;                                                                        \
        }                                                                                          \
    }                                                                                              \
    ON_EACH_PROCESSOR                                                                              \
    static void name##_of(const float *a, const float *b, float *restrict to, npy_intp count) {    \
        float x = *a;                                                                              \
        for (npy_intp i = 0; i < count; i++) {                                                     \
            float y = b[i];                                                                        \
            to[i] = result;                                                                        \
        }                                                                                          \
    }

LOOPS(add, computed(x + y))
LOOPS(sub, computed(x - y))
LOOPS(mul, computed(x * y))
LOOPS(div, computed(x / y))
LOOPS(max, larger(x, y))
LOOPS(min, smaller(x, y))
LOOPS(narrow_mul, x == 0.0f || y == 0.0f ? 0.0f : computed(x * y + 0.0f))

/* In the order of OPERATIONS in block_math.py. Both have elements along a row, or one has one. */
static Loop *const LOOPS_OF[][3] = {
    {add_all, add_by, add_of},
    {sub_all, sub_by, sub_of},
    {mul_all, mul_by, mul_of},
    {div_all, div_by, div_of},
    {max_all, max_by, max_of},
    {min_all, min_by, min_of},
    {narrow_mul_all, narrow_mul_by, narrow_mul_of},
};
enum { OPERATIONS = sizeof LOOPS_OF / sizeof *LOOPS_OF };

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
    if (adds_zero) widen_without_sign(from, space, count);
    else widen(from, space, count);
    return space;
}

static void compute(
    const Operand *a, const Operand *b, float *to, npy_intp rows, npy_intp columns, int operation,
    int rounds
) {
    float space_of_a[CHUNK], space_of_b[CHUNK];
    int is_by = b->columns == 1 && columns > 1, is_of = a->columns == 1 && columns > 1;
    Loop *loop = LOOPS_OF[operation][is_by ? 1 : is_of ? 2 : 0];
    for (npy_intp row = 0; row < rows; row++)
        for (npy_intp column = 0; column < columns; column += CHUNK) {
            npy_intp count = columns - column < CHUNK ? columns - column : CHUNK;
            const float *x = values_at(a, row, column, count, !rounds, space_of_a);
            const float *y = values_at(b, row, column, count, !rounds, space_of_b);
            loop(x, y, to, count);
            if (rounds) round_all(to, count);
            to += count;
        }
}

/* Functions of the module --------------------------------------------------------------------- */

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
    compute(&x, &y, to, rows, columns, (int)operation, PyObject_IsTrue(arguments[3]));
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
    if (PyObject_IsTrue(arguments[2])) widen_without_sign(from, to, count);
    else widen(from, to, count);
    Py_RETURN_TRUE;
}

/* stored(values, block): True once the bfloat16 block has the f32 values, rounded. */
static PyObject *stored(PyObject *module, PyObject *const *arguments, Py_ssize_t given) {
    if (given != 2) return PyErr_Format(PyExc_TypeError, "stored() takes 2 arguments");
    PyArrayObject *values = if_single(whole(arguments[0])), *block = whole_target(arguments[1]);
    if (!block || !values || !is_bfloat16(block) || !PyArray_SAMESHAPE(values, block))
        Py_RETURN_NONE;
    narrow((const float *)PyArray_DATA(values), (uint16_t *)PyArray_DATA(block),
           PyArray_SIZE(values));
    Py_RETURN_TRUE;
}

ON_EACH_PROCESSOR
static void fill_all(uint16_t *words, uint16_t word, npy_intp count) {
    for (npy_intp i = 0; i < count; i++) words[i] = word;
}

/* filled(words, word): True once each of the words, of 2 bytes, is this one. */
static PyObject *filled(PyObject *module, PyObject *const *arguments, Py_ssize_t given) {
    if (given != 2) return PyErr_Format(PyExc_TypeError, "filled() takes 2 arguments");
    PyArrayObject *words = whole_target(arguments[0]);
    if (!words || PyArray_ITEMSIZE(words) != 2) Py_RETURN_NONE;
    unsigned long word = PyLong_AsUnsignedLong(arguments[1]);
    if (PyErr_Occurred()) return NULL;
    fill_all((uint16_t *)PyArray_DATA(words), (uint16_t)word, PyArray_SIZE(words));
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

/* loaded(block, matrix, starts): True once the block has the words of the matrix from this tile. */
static PyObject *loaded(PyObject *module, PyObject *const *arguments, Py_ssize_t given) {
    if (given != 3) return PyErr_Format(PyExc_TypeError, "loaded() takes 3 arguments");
    PyArrayObject *block = whole_target(arguments[0]), *matrix = whole(arguments[1]);
    char *at = tiles_at(matrix, arguments[2], block);
    if (!at) return does_not_apply();
    size_t size = (size_t)PyArray_STRIDE(block, 0);
    char *to = PyArray_BYTES(block);
    for (npy_intp row = 0, rows = PyArray_DIM(block, 0); row < rows; row++)
        memcpy(to + row * size, at + row * PyArray_STRIDE(matrix, 0), size);
    Py_RETURN_TRUE;
}

/* saved(block, matrix, starts): the other way round. */
static PyObject *saved(PyObject *module, PyObject *const *arguments, Py_ssize_t given) {
    if (given != 3) return PyErr_Format(PyExc_TypeError, "saved() takes 3 arguments");
    PyArrayObject *block = whole(arguments[0]), *matrix = whole_target(arguments[1]);
    char *at = tiles_at(matrix, arguments[2], block);
    if (!at) return does_not_apply();
    size_t size = (size_t)PyArray_STRIDE(block, 0);
    const char *from = PyArray_BYTES(block);
    for (npy_intp row = 0, rows = PyArray_DIM(block, 0); row < rows; row++)
        memcpy(at + row * PyArray_STRIDE(matrix, 0), from + row * size, size);
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
    flush_all((float *)PyArray_DATA(values), PyArray_SIZE(values));
    Py_RETURN_TRUE;
}

/* has_nan(values): is one of these f32 values, in whichever order they lie, a NaN? */
static PyObject *has_nan(PyObject *module, PyObject *argument) {
    if (!PyArray_Check(argument)) Py_RETURN_NONE;
    PyArrayObject *values = (PyArrayObject *)argument;
    if (PyArray_TYPE(values) != NPY_FLOAT32 || !PyArray_ISONESEGMENT(values) ||
        !PyArray_ISBEHAVED_RO(values))
        Py_RETURN_NONE;
    return PyBool_FromLong(is_nan_among((const float *)PyArray_DATA(values), PyArray_SIZE(values)));
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
    for (npy_intp row = 0; row < rows; row++) to[row] = largest_of(from + row * columns, columns);
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
        add_columns(from + row * columns, columns, sums);
        to[row] = total_of(sums);
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
        add_columns(values_at(from, row, column, count, 1, space), count, sums);
    }
    return (float)(total_of(sums) + 0.0);
}

static float largest_of_row(const Operand *from, npy_intp row, float *space) {
    int32_t most = INT32_MIN;
    for (npy_intp column = 0; column < from->columns; column += CHUNK) {
        npy_intp count = chunk_at(from, column);
        float largest = largest_of(values_at(from, row, column, count, 1, space), count);
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
    return PyModule_Create(&MODULE);
}
