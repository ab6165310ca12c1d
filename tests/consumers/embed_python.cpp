// A C++ program that embeds Python: two registries of one process, one from each language. A call of the C++ surface calls the one
// of the Python surface inside its handler. The Python side loads the library that AGENT_SURFACE_LIBRARY names.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <agent_surface_dev.hpp>
#include <iostream>

namespace as = agent_surface;

static const char PYTHON[] = R"(
from agent_surface import Surface

surface = Surface()
box = surface.component("box", description="A box in Python")

@box.action()
def double(n: int) -> int:
    "Double a number."
    return 2 * n

def ask(n):
    return surface.invoke_sync("view:box.double", {"n": n}).output

def end():
    surface.close()
)";

// Calls a function of the Python side with a number; -1 where that fails.
static long ask_python(const char* function, long n) {
  const PyGILState_STATE gil = PyGILState_Ensure();
  PyObject* module = PyImport_AddModule("__main__");
  PyObject* answer = PyObject_CallMethod(module, function, "l", n);
  long number = -1;
  if (answer) number = PyLong_AsLong(answer);
  if (PyErr_Occurred()) PyErr_Print(), number = -1;
  Py_XDECREF(answer);
  PyGILState_Release(gil);
  return number;
}

int main() {
  Py_InitializeEx(0);
  if (PyRun_SimpleString(PYTHON) != 0) return 2;
  PyThreadState* python = PyEval_SaveThread();  // handlers come from any thread
  bool sound = true;
  {
    as::registry surface = as::registry::make().value();
    const as::registration box = surface.add(
        R"({"type":"box","description":"A box in C++","actions":{"double":{"description":"Double a number","effect":"local-state","input":{"type":"object"}}}})",
        {{"double", [] { return std::to_string(ask_python("ask", 21)); }}}).value();
    const std::string request = R"({"capabilityId":"view:box.double"})";
    const std::string inline_result = surface.invoke_wait(request).value();
    const std::string worker_result = surface.invoke_future(request).result.get();
    for (const std::string& result : {inline_result, worker_result}) {
      if (result.find("\"output\":42") != std::string::npos) continue;
      std::cout << result << '\n';
      sound = false;
    }
  }
  sound = sound && ask_python("ask", 4) == 8;  // the Python surface outlives the other
  PyEval_RestoreThread(python);
  sound = PyRun_SimpleString("end()") == 0 && sound;
  sound = Py_FinalizeEx() == 0 && sound;
  const std::string live = as::dev::live().value();
  if (live.find("\"registry\":0") == std::string::npos) sound = false, std::cout << live << '\n';
  return sound ? 0 : 1;
}
