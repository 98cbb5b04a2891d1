// A tape as a table with one row per node, for gyre inspect. Build it after forward and before backward, which frees
// the nodes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gyre/autograd/tape.h"

namespace gyre {

// Whether `path`, the module path of a node such as "encoder.layers.0.self_attn", is `module` or one of its submodules.
// Every path is in module "".
bool in_module(std::string_view path, std::string_view module);

// Number of names in the path; 0 for "".
int path_depth(std::string_view path);

// The first `depth` names of the path: "encoder.layers.0" for 3.
std::string path_prefix(const std::string& path, int depth);

struct TapeInput {
  int node = -1;  // -1: a constant, or a frozen parameter
  Shape shape;
};

// A tensor that a node keeps for its backward in addition to its output: saved by the op, or a constant input.
struct SavedTensor {
  std::string name;
  Shape shape;
  DType dtype = DType::f32;
  size_t bytes = 0;  // size of the data that the tensor shows, also for a view
  int holder = -1;   // first node that keeps this storage and counts its bytes; -1: a parameter's storage, not counted
};

struct TapeRow {
  int id = 0;
  bool leaf = false;
  std::string module;        // "encoder.layers.0.self_attn"; empty for leaves
  std::string op;            // "parameter" and "leaf" for leaves
  std::string_view formula;  // formula of the op; static storage
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<TapeInput> inputs;  // inputs that are there: absent optional ones are left out
  std::string parameter;          // the parameter's name, if the node is the leaf of one
  Shape shape;                    // shape of the output
  DType dtype = DType::f32;
  std::vector<SavedTensor> saved;
  size_t output_bytes = 0;  // 0 if the output is a parameter or shares the storage of an earlier node
  size_t saved_bytes = 0;   // memory that this node keeps until its backward: its output and the tensors of `saved`
                            // whose holder it is; a storage that several nodes keep counts once
  double flops = 0;         // FLOPs of the forward pass
};

std::vector<TapeRow> tape_rows(const Tape& tape);

// The ops of a module and the leaves that they use, in tape order.
std::vector<TapeRow> rows_of_module(const std::vector<TapeRow>& rows, std::string_view module);

struct ModuleTotals {
  std::string path;
  int ops = 0;
  int64_t parameters = 0;  // elements of the parameters that the module's ops use, each parameter once
  size_t saved_bytes = 0;  // sum over the module's ops
  double flops = 0;        // FLOPs of the module's forward pass
};

// The totals of the whole tape (path "", which includes the leaves), then of every module, parents before children:
// "encoder", "encoder.layers", "encoder.layers.0", ..
std::vector<ModuleTotals> module_totals(const std::vector<TapeRow>& rows);

}  // namespace gyre
