/* The texts of recorded events, as _texts() of texts.py makes them: the same bytes, in one pass.

   What an event says is a template (texts.py). It is found by the objects of the event, which are
   most often the very same as those of an event before; else by what they are equal to. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

enum { FIELDS = 7 }; /* of an event, as in events.py */
enum { MOST_PIECES = 16, PLACES = 1024, WRITTEN_AT_ONCE = 1 << 18 };
enum { NOTHING, TRACK, PROCESS, TICK, TRANSFER, VALUE, PART, SLOTS }; /* Slot */
enum { BEGIN = 1, END = 2 }; /* Transfer */

typedef struct {
    const char *text;
    Py_ssize_t size;
    long slot; /* what follows */
} Piece;

typedef struct {
    PyObject *made; /* the template and its channel: they own the texts */
    PyObject *channel;
    long transfer;
    int count;
    Piece pieces[MOST_PIECES];
} Template;

typedef struct {
    PyObject *kind, *subject, *kernel;
    Py_ssize_t code, at;
    Template *template;
} Place;

typedef struct {
    PyObject *write, *kernels, *tracks, *processes, *make;
    PyObject *known;     /* numbers of templates, by kind, subject, code, place and kernel */
    PyObject *under_way; /* the ticks at which transfers began, by track, channel and subject */
    Template **templates;
    Py_ssize_t template_count;
    Place places[PLACES];
    char *text;
    size_t used, room;
    long long tick;
} Writer;

/* Text ---------------------------------------------------------------------------------------- */

static int put(Writer *writer, const char *text, size_t size) {
    if (writer->room - writer->used < size) {
        size_t room = 2 * (writer->room + size);
        char *larger = PyMem_Realloc(writer->text, room);
        if (!larger) return PyErr_NoMemory(), -1;
        writer->text = larger;
        writer->room = room;
    }
    memcpy(writer->text + writer->used, text, size);
    writer->used += size;
    return 0;
}

static int put_string(Writer *writer, PyObject *string) {
    Py_ssize_t size;
    const char *text = PyUnicode_AsUTF8AndSize(string, &size);
    return text ? put(writer, text, (size_t)size) : -1;
}

static int put_owned(Writer *writer, PyObject *string) {
    int failed = string ? put_string(writer, string) : -1;
    Py_XDECREF(string);
    return failed;
}

static int put_number(Writer *writer, long long number) {
    char digits[24], *first = digits + sizeof digits;
    unsigned long long rest = number < 0 ? 0ull - (unsigned long long)number : (unsigned long long)number;
    do *--first = (char)('0' + rest % 10);
    while (rest /= 10);
    if (number < 0) *--first = '-';
    return put(writer, first, (size_t)(digits + sizeof digits - first));
}

static int put_value(Writer *writer, PyObject *value) {
    if (!PyLong_CheckExact(value)) return put_owned(writer, PyObject_Str(value));
    int overflows;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflows);
    return overflows ? put_owned(writer, PyObject_Str(value)) : put_number(writer, number);
}

static int put_numbers(Writer *writer, PyObject *numbers) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(numbers); i++)
        if ((i && put(writer, ", ", 2)) || put_value(writer, PyTuple_GET_ITEM(numbers, i))) return -1;
    return 0;
}

static int put_part(Writer *writer, PyObject *part) {
    PyObject *starts, *sizes;
    if (part == Py_None) return 0;
    if (!PyArg_ParseTuple(part, "O!O!", &PyTuple_Type, &starts, &PyTuple_Type, &sizes)) return -1;
    return put(writer, ", \"part\": [[", 12) || put_numbers(writer, starts) ||
           put(writer, "], [", 4) || put_numbers(writer, sizes) || put(writer, "]]", 2);
}

static int flush(Writer *writer) {
    PyObject *done = PyObject_CallFunction(
        writer->write, "y#", writer->used ? writer->text : "", (Py_ssize_t)writer->used);
    writer->used = 0;
    Py_XDECREF(done);
    return done ? 0 : -1;
}

/* Templates ----------------------------------------------------------------------------------- */

static int read_piece(PyObject *from, Piece *piece) {
    PyObject *text;
    if (!PyArg_ParseTuple(from, "Ol", &text, &piece->slot)) return -1;
    if (piece->slot < NOTHING || piece->slot >= SLOTS)
        return PyErr_SetString(PyExc_ValueError, "no such slot"), -1;
    piece->text = PyUnicode_AsUTF8AndSize(text, &piece->size);
    return piece->text ? 0 : -1;
}

/* `made`: the channel, what the event does to a transfer, and the pieces. */
static int read_template(PyObject *made, Template *template) {
    PyObject *pieces;
    template->made = made;
    if (!PyArg_ParseTuple(made, "U(lO!)", &template->channel, &template->transfer, &PyTuple_Type,
                          &pieces))
        return -1;
    if (PyTuple_GET_SIZE(pieces) > MOST_PIECES)
        return PyErr_SetString(PyExc_ValueError, "too many pieces"), -1;
    for (template->count = 0; template->count < PyTuple_GET_SIZE(pieces); template->count++)
        if (read_piece(PyTuple_GET_ITEM(pieces, template->count),
                       &template->pieces[template->count]))
            return -1;
    return 0;
}

static Template *new_template(Writer *writer, PyObject *key) {
    Py_ssize_t count = writer->template_count;
    Template **all = PyMem_Realloc(writer->templates, (size_t)(count + 1) * sizeof *all);
    if (!all) return (Template *)PyErr_NoMemory();
    writer->templates = all;
    Template *template = all[count] = PyMem_Calloc(1, sizeof *template);
    if (!template) return (Template *)PyErr_NoMemory();
    writer->template_count++;
    PyObject *made = PyObject_CallObject(writer->make, key);
    if (!made || read_template(made, template)) return NULL; /* the template owns it by then */
    PyObject *number = PyLong_FromSsize_t(count);
    int failed = !number || PyDict_SetItem(writer->known, key, number);
    Py_XDECREF(number);
    return failed ? NULL : template;
}

static Template *equal_template(Writer *writer, PyObject **event, PyObject *kernel) {
    PyObject *key = PyTuple_Pack(5, event[0], event[2], event[4], event[5], kernel);
    if (!key) return NULL;
    PyObject *number = PyDict_GetItemWithError(writer->known, key);
    Template *found = NULL;
    if (number) found = writer->templates[PyLong_AsSsize_t(number)];
    else if (!PyErr_Occurred()) found = new_template(writer, key);
    Py_DECREF(key);
    return found;
}

static Template *template_of(Writer *writer, PyObject **event, PyObject *kernel) {
    Py_ssize_t code = PyLong_AsSsize_t(event[4]), at = PyLong_AsSsize_t(event[5]);
    if (PyErr_Occurred()) return NULL;
    size_t mixed = ((uintptr_t)event[0] >> 4) * 31 + ((uintptr_t)event[2] >> 4) * 17 +
                   ((uintptr_t)kernel >> 4) * 7 + (size_t)code * 5 + (size_t)at;
    Place *place = &writer->places[(mixed ^ (mixed >> 10)) % PLACES];
    if (place->kind == event[0] && place->subject == event[2] && place->kernel == kernel &&
        place->code == code && place->at == at)
        return place->template;
    Template *found = equal_template(writer, event, kernel);
    if (found) *place = (Place){event[0], event[2], kernel, code, at, found};
    return found;
}

/* Events -------------------------------------------------------------------------------------- */

static int begin(Writer *writer, PyObject *key) {
    PyObject *queue = PyDict_GetItemWithError(writer->under_way, key);
    if (!queue) {
        PyObject *made = PyErr_Occurred() ? NULL : PyList_New(0);
        int failed = !made || PyDict_SetItem(writer->under_way, key, made);
        Py_XDECREF(made);
        if (failed) return -1;
        queue = made;
    }
    PyObject *tick = PyLong_FromLongLong(writer->tick);
    int failed = !tick || PyList_Append(queue, tick);
    Py_XDECREF(tick);
    return failed ? -1 : 0;
}

/* The tick at which the oldest transfer under way began, or this one. */
static int end(Writer *writer, PyObject *key, long long *began) {
    PyObject *queue = PyDict_GetItemWithError(writer->under_way, key);
    if (!queue) return PyErr_Occurred() ? -1 : 0;
    if (!PyList_GET_SIZE(queue)) return 0;
    *began = PyLong_AsLongLong(PyList_GET_ITEM(queue, 0));
    return PyList_SetSlice(queue, 0, 1, NULL);
}

static int follow_transfer(
    Writer *writer, const Template *template, PyObject **event, long long *began
) {
    if (template->transfer != BEGIN && template->transfer != END) return 0;
    PyObject *key = PyTuple_Pack(3, event[1], template->channel, event[2]);
    if (!key) return -1;
    int failed = template->transfer == BEGIN ? begin(writer, key) : end(writer, key, began);
    Py_DECREF(key);
    return failed;
}

static int put_slot(Writer *writer, long slot, PyObject **event, Py_ssize_t track, long long began) {
    switch (slot) {
    case TRACK: return put_string(writer, PyList_GET_ITEM(writer->tracks, track));
    case PROCESS: return put_string(writer, PyList_GET_ITEM(writer->processes, track));
    case TICK: return put_number(writer, writer->tick);
    case TRANSFER: return put_number(writer, began);
    case VALUE: return put_value(writer, event[3]);
    case PART: return put_part(writer, event[6]);
    default: return 0;
    }
}

static int put_event(Writer *writer, PyObject **event) {
    Py_ssize_t track = PyLong_AsSsize_t(event[1]);
    if (track < 0 || track >= PyList_GET_SIZE(writer->kernels)) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_IndexError, "no such track");
        return -1;
    }
    Template *template = template_of(writer, event, PyList_GET_ITEM(writer->kernels, track));
    long long began = writer->tick;
    if (!template || follow_transfer(writer, template, event, &began)) return -1;
    for (int i = 0; i < template->count; i++) {
        const Piece *piece = &template->pieces[i];
        if (put(writer, piece->text, (size_t)piece->size)) return -1;
        if (put_slot(writer, piece->slot, event, track, began)) return -1;
    }
    writer->tick++;
    return 0;
}

static int put_events(Writer *writer, PyObject *events) {
    for (Py_ssize_t i = 0; i + FIELDS <= PyList_GET_SIZE(events); i += FIELDS) {
        if (put_event(writer, ((PyListObject *)events)->ob_item + i)) return -1;
        if (writer->used >= WRITTEN_AT_ONCE && flush(writer)) return -1;
    }
    return flush(writer);
}

static void clear(Writer *writer) {
    for (Py_ssize_t i = 0; i < writer->template_count; i++) {
        Py_XDECREF(writer->templates[i]->made);
        PyMem_Free(writer->templates[i]);
    }
    PyMem_Free(writer->templates);
    PyMem_Free(writer->text);
    Py_XDECREF(writer->known);
    Py_XDECREF(writer->under_way);
    PyMem_Free(writer);
}

/* write_texts(write, events, kernels, tracks, processes, make, first_tick): what is written in calls
   of `write` are the texts of the events, of FIELDS items each. make(kind, subject, code, place,
   kernel) gives the channel of a transfer and the template. */
static PyObject *write_texts(PyObject *module, PyObject *arguments) {
    PyObject *events;
    Writer *writer = PyMem_Calloc(1, sizeof *writer);
    if (!writer) return PyErr_NoMemory();
    writer->known = PyDict_New();
    writer->under_way = PyDict_New();
    int is_given = PyArg_ParseTuple(
        arguments, "OO!O!O!O!OL", &writer->write, &PyList_Type, &events, &PyList_Type,
        &writer->kernels, &PyList_Type, &writer->tracks, &PyList_Type, &writer->processes,
        &writer->make, &writer->tick);
    int failed = !is_given || !writer->known || !writer->under_way || put_events(writer, events);
    clear(writer);
    if (failed) return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef FUNCTIONS[] = {
    {"write_texts", write_texts, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT, "_event_texts", "Texts of events.", -1, FUNCTIONS,
};

PyMODINIT_FUNC PyInit__event_texts(void) { return PyModule_Create(&MODULE); }
