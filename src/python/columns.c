/* Lists of Python numbers to columns of C numbers, at about a nanosecond each: what _rows.py does
 * in Python where this module is missing. Written against the stable interface of Python 3.8
 * (abi3), so one file serves all versions. */
#define Py_LIMITED_API 0x03080000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

/* The stable interface takes two calls for each number, which cost ten times the reading. The
 * versions that this file serves keep a float's number, a list's items and a tuple's items at the
 * end of what they call the type's basic size. ProbeLayout() looks whether the running one does; if
 * not, `known` stays 0, and the calls are used. Nothing but the import writes it. */
static struct {
  int known;
  Py_ssize_t number; /* where a float has its double */
  Py_ssize_t list;   /* where a list has the pointer to its items */
  Py_ssize_t tuple;  /* where a tuple has its first item */
} layout;

/* The items of a list or tuple, borrowed. Only with a known layout. */
static PyObject** ItemsOf(PyObject* value, int tuples) {
  char* const start = (char*)value;
  if (tuples) return (PyObject**)(void*)(start + layout.tuple);
  PyObject** items = NULL;
  memcpy(&items, start + layout.list, sizeof items);
  return items;
}

/* Writes a list or tuple of floats; 0: it has another type of item. */
static int WriteFloats(PyObject* value, Py_ssize_t width, int tuples, char* to) {
  PyObject** const items = ItemsOf(value, tuples);
  for (Py_ssize_t index = 0; index < width; ++index) {
    if (Py_TYPE(items[index]) != &PyFloat_Type) return 0;
    memcpy(to + index * 8, (char*)items[index] + layout.number, sizeof(double));
  }
  return 1;
}

/* Writes one number; 0: it is not of the column's type, or does not fit into 64 bits. Leaves no
 * exception. */
static int WriteNumber(PyObject* value, char type, char* to) {
  if (type == 'f') {
    if (Py_TYPE(value) != &PyFloat_Type) return 0;
    const double number = PyFloat_AsDouble(value);
    memcpy(to, &number, sizeof number);
    return 1;
  }
  if (type == 'b') {
    if (value != Py_True && value != Py_False) return 0;
    *to = value == Py_True;
    return 1;
  }
  if (Py_TYPE(value) != &PyLong_Type) return 0;
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow != 0) return 0;
  const int64_t wide = number;
  memcpy(to, &wide, sizeof wide);
  return 1;
}

/* The field of a row, borrowed; NULL without an exception: there is none. */
static PyObject* FieldOf(PyObject* row, Py_ssize_t field) {
  if (field < 0) return row;
  /* A row of Spark's is a subclass of tuple. */
  if (PyTuple_Check(row)) return field < PyTuple_Size(row) ? PyTuple_GetItem(row, field) : NULL;
  if (PyList_Check(row)) return field < PyList_Size(row) ? PyList_GetItem(row, field) : NULL;
  return NULL;
}

static int WriteSequence(PyObject* value, Py_ssize_t width, int tuples, char type, Py_ssize_t size,
                         char* to) {
  if (Py_TYPE(value) != (tuples ? &PyTuple_Type : &PyList_Type)) return 0;
  if ((tuples ? PyTuple_Size(value) : PyList_Size(value)) != width) return 0;
  if (layout.known && type == 'f') return WriteFloats(value, width, tuples, to);
  for (Py_ssize_t index = 0; index < width; ++index) {
    PyObject* item = tuples ? PyTuple_GetItem(value, index) : PyList_GetItem(value, index);
    if (item == NULL || !WriteNumber(item, type, to + index * size)) return 0;
  }
  return 1;
}

static int WriteColumn(PyObject* rows, Py_ssize_t field, char type, Py_ssize_t width, int tuples,
                       char* to) {
  const Py_ssize_t size = type == 'b' ? 1 : 8;
  const Py_ssize_t step = width < 0 ? size : width * size;
  const Py_ssize_t count = PyList_Size(rows);
  for (Py_ssize_t index = 0; index < count; ++index) {
    PyObject* row = PyList_GetItem(rows, index);
    PyObject* value = row == NULL ? NULL : FieldOf(row, field);
    if (value == NULL) return 0;
    const int fits = width < 0 ? WriteNumber(value, type, to + index * step)
                               : WriteSequence(value, width, tuples, type, size, to + index * step);
    if (!fits) return 0;
  }
  return 1;
}

static PyObject* Convert(PyObject* self, PyObject* arguments) {
  (void)self;
  PyObject* rows = NULL;
  Py_ssize_t field = 0;
  Py_ssize_t width = 0;
  const char* type = NULL;
  int tuples = 0;
  if (!PyArg_ParseTuple(arguments, "O!nsnp", &PyList_Type, &rows, &field, &type, &width, &tuples))
    return NULL;
  if (strlen(type) != 1 || strchr("fib", type[0]) == NULL) {
    PyErr_SetString(PyExc_ValueError, "the type is f, i or b");
    return NULL;
  }
  const Py_ssize_t step = (width < 0 ? 1 : width) * (type[0] == 'b' ? 1 : 8);
  const Py_ssize_t count = PyList_Size(rows);
  if (step != 0 && count > PY_SSIZE_T_MAX / step) return PyErr_NoMemory();
  PyObject* column = PyBytes_FromStringAndSize(NULL, count * step);
  if (column == NULL) return NULL;
  if (WriteColumn(rows, field, type[0], width, tuples, PyBytes_AsString(column))) return column;
  Py_DECREF(column);
  PyErr_Clear();
  Py_RETURN_NONE;
}

/* The type's __basicsize__; 0, without an exception, if it has none. */
static Py_ssize_t BasicSize(PyTypeObject* type) {
  PyObject* size = PyObject_GetAttrString((PyObject*)type, "__basicsize__");
  const Py_ssize_t bytes = size == NULL ? -1 : PyLong_AsSsize_t(size);
  Py_XDECREF(size);
  return bytes < 0 ? 0 : bytes;
}

/* Whether a list's items are where they are looked for. An empty list has no items and room for
 * none; so a field that is something else is not followed as a pointer. */
static int ProbeList(PyObject* item) {
  PyObject* const empty = PyList_New(0);
  PyObject* const full = Py_BuildValue("[OO]", Py_None, item);
  int found = 0;
  if (empty != NULL && full != NULL) {
    Py_ssize_t room = 0;
    memcpy(&room, (char*)full + layout.list + sizeof(void*), sizeof room);
    found = ItemsOf(empty, 0) == NULL && ItemsOf(full, 0) != NULL && room >= 2 && room < 64 &&
            ItemsOf(full, 0)[0] == Py_None && ItemsOf(full, 0)[1] == item;
  }
  Py_XDECREF(empty);
  Py_XDECREF(full);
  return found;
}

static void ProbeLayout(void) {
  const double number = 1.0 / 3;
  layout.number = BasicSize(&PyFloat_Type) - (Py_ssize_t)sizeof number;
  layout.list = BasicSize(&PyList_Type) - 2 * (Py_ssize_t)sizeof(void*);
  layout.tuple = BasicSize(&PyTuple_Type);
  PyObject* const item = PyFloat_FromDouble(number);
  PyObject* const pair = item == NULL ? NULL : Py_BuildValue("(OO)", Py_None, item);
  if (pair != NULL && layout.number > 0 && layout.list > 0 && layout.tuple > 0) {
    layout.known = memcmp((char*)item + layout.number, &number, sizeof number) == 0 &&
                   ItemsOf(pair, 1)[0] == Py_None && ItemsOf(pair, 1)[1] == item && ProbeList(item);
  }
  Py_XDECREF(pair);
  Py_XDECREF(item);
  PyErr_Clear();
}

/* The table of CRC-32C (Castagnoli, reflected polynomial 0x82F63B78), one byte at a time. */
static uint32_t crc_table[256];

static void FillCrcTable(void) {
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? 0x82F63B78u : 0);
    crc_table[byte] = crc;
  }
}

static PyObject* Crc32c(PyObject* self, PyObject* arguments) {
  (void)self;
  const char* data = NULL;
  Py_ssize_t size = 0;
  if (!PyArg_ParseTuple(arguments, "y#", &data, &size)) return NULL;
  uint32_t crc = 0xFFFFFFFFu;
  for (Py_ssize_t index = 0; index < size; ++index) {
    crc = crc_table[(crc ^ (unsigned char)data[index]) & 0xFF] ^ (crc >> 8);
  }
  return PyLong_FromUnsignedLong(crc ^ 0xFFFFFFFFu);
}

static PyMethodDef methods[] = {
    {"crc32c", Crc32c, METH_VARARGS, "crc32c(data) -> the CRC-32C of bytes"},
    {"convert", Convert, METH_VARARGS,
     "convert(rows, field, type, width, tuples) -> bytes or None\n\n"
     "The values of field `field` of each row of the list `rows` (-1: "
     "the row itself) as an array: float64 (type \"f\"),\n"
     "int64 (\"i\") or bool (\"b\"). width: -1 for numbers, else the "
     "length of the flat list (tuples: tuple) in each\n"
     "row. None: a value is of another type or length."},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_columns", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__columns(void) {
  FillCrcTable();
  ProbeLayout();
  return PyModule_Create(&module);
}
