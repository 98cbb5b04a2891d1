// A tape as data, a row per node: what gyre inspect shows. Read after forward and before backward, which frees it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "autograd/tape.h"

namespace gyre {

struct TapeInput {
  int node = -1;  // -1: a constant, or a frozen parameter
  Shape shape;
};

// What a node keeps for its backward beside its output: what its op saved, and constants among its inputs.
struct SavedTensor {
  std::string name;
  Shape shape;
  DType dtype = DType::f32;
  size_t bytes = 0;  // of what it shows, if it is a view
  int holder = -1;   // the first node that keeps this storage, with which it counts; -1: a parameter's, counts nowhere
};

struct TapeRow {
  int id = 0;
  bool leaf = false;
  std::string module;        // "encoder.layers.0.self_attn"; empty for leaves
  std::string op;            // "parameter" and "leaf" for leaves
  std::string_view formula;  // of the op, which lasts as long as the program
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<TapeInput> inputs;  // those that are there
  std::string parameter;          // its name, for the leaf of one
  Shape shape;                    // of the output
  DType dtype = DType::f32;
  std::vector<SavedTensor> saved;
  size_t output_bytes = 0;  // 0 where the output is a parameter, or lies in what an earlier node keeps
  size_t saved_bytes = 0;   // memory that lives until this node's backward because of it: its output and what counts
                            // with it of `saved`; a storage that several nodes keep counts once
  double flops = 0;         // of forward
};

std::vector<TapeRow> tape_rows(const Tape& tape);

// The ops in a module, and the leaves that they use, in the order of the tape.
std::vector<TapeRow> rows_of_module(const std::vector<TapeRow>& rows, std::string_view module);

struct ModuleTotals {
  std::string path;
  int ops = 0;
  int64_t parameters = 0;  // numbers in those that its ops use, each parameter once
  size_t saved_bytes = 0;  // of its ops
  double flops = 0;        // of its forward
};

// Of everything ("", the leaves with it) and of every module, a module before its parts: "encoder",
// "encoder.layers", "encoder.layers.0", ..
std::vector<ModuleTotals> module_totals(const std::vector<TapeRow>& rows);

}  // namespace gyre
