// Model parameters, stored in two flat arenas (values and gradients) in the order of registration. The optimizer, the
// gradient reducer and checkpoints work on ranges of the arenas; layers use one named tensor per parameter. The arena
// of gradients can be replaced by a tensor per parameter that exists only while backward needs it.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/core/tensor.h"

namespace gyre {

// Initialization of a parameter. Each element is a pure function of (seed, name, index).
struct Init {
  enum class Kind : uint8_t { constant, normal, uniform, orthogonal_normal } kind = Kind::constant;
  double value = 0;  // the constant, the standard deviation or the bound
  static Init constant(double c) { return {Kind::constant, c}; }
  static Init normal(double deviation) { return {Kind::normal, deviation}; }
  static Init uniform(double bound) { return {Kind::uniform, bound}; }
  // Rows (n, width) that are orthogonal within blocks of `width` and have the lengths of standard normal vectors
  // (Choromanski et al. 2021).
  static Init orthogonal_normal() { return {Kind::orthogonal_normal}; }
  // Glorot & Bengio 2010, eq. 16: uniform with bound sqrt(6 / (fan_in + fan_out)).
  static Init xavier(int64_t fan_in, int64_t fan_out);
};

// Sparse gradient of one lookup of table rows: the gradient of row ids[i] is the sum of factor * gradient[i] over all i
// with that id.
struct SparseGradient {
  Tensor ids;       // (n) i32, on the CPU
  Tensor gradient;  // (n, d); undefined before backward
  double factor = 1;
};

struct Parameter;

// A low-rank adapter of some rows of a weight (LoRA, Hu et al. 2022): they act as the sum of their values and scale b
// a.
struct LowRankAdapter {
  int64_t first = 0, rows = 0;           // rows of the weight
  Parameter *a = nullptr, *b = nullptr;  // (rank, columns of the weight) and (rows, rank)
  double scale = 1;
  double dropout = 0;  // rate on the input of a
};

// A named parameter: a view of the arenas of its Parameters. Without an arena of gradients, `gradient` is undefined
// while it is zero.
struct Parameter {
  std::string name;
  Shape shape;
  Init init;
  bool trainable = true;
  bool is_table = false;  // an embedding table: any use other than a lookup (tied output) comes last in forward
  bool decay = true;      // apply weight decay; false for norms and biases
  // Of the weight of a linear layer inside the model: the rows of each matrix that it stacks, such as those of queries,
  // keys and values. Empty for all other parameters. Muon updates these matrices as wholes.
  std::vector<int64_t> matrix_rows;
  // Adapters (models/modules/lora.h) beside such a weight, each of other rows; their parameters have their own store.
  std::vector<LowRankAdapter> adapters;
  int index = 0;       // position in its Parameters
  int64_t offset = 0;  // first element in the arenas
  Tensor value, gradient;
  // If set, lookups recorded from then on store their gradients here and do not add to `gradient`, which is final
  // before the backward of the lookups.
  std::vector<SparseGradient>* sparse_gradients = nullptr;

  // The gradient, to which the caller adds. Allocates zeros if it is undefined.
  const Tensor& allocated_gradient();
};

// Resets the parameter's value to the one that Parameters::allocate gives it with this seed.
void draw_initial_value(const Parameter& parameter, uint64_t seed);

// The parameters of a model, in the order of registration.
class Parameters {
 public:
  // Registers a parameter (add_table: an embedding table), whose tensors exist after allocate(). Throws if the name is
  // taken or if allocate() was called.
  Parameter& add(std::string name, const Shape& shape, Init init, bool decay = true);
  Parameter& add_table(std::string name, const Shape& shape, Init init);
  // Allocates the arenas and initializes the values, which are the same on every device. f64 is for gradient checks.
  void allocate(uint64_t seed, DType dtype = DType::f32, Device device = {});
  // Like allocate(), but with values of zero, which the caller overwrites: drawing them takes longer than reading them.
  void allocate_zeros(DType dtype = DType::f32, Device device = {});

  size_t count() const { return items_.size(); }
  Parameter& operator[](size_t i) { return items_[i]; }
  const Parameter& operator[](size_t i) const { return items_[i]; }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  Parameter* find(std::string_view name);  // nullptr if there is none
  int64_t elements() const;                // number of elements of all parameters, without alignment gaps

  Tensor values() const { return values_; }        // flat; gaps between parameters (64-byte alignment in f32) stay zero
  Tensor gradients() const { return gradients_; }  // the same layout; undefined after free_gradients()
  // Frees the arena of gradients, which must be zero. Afterward a parameter has a gradient from the first use of
  // allocated_gradient() until its owner resets Parameter::gradient.
  void free_gradients();
  void zero_gradients();  // sets all gradients to zero

 private:
  void set_values(Tensor values);  // replaces both arenas and the views of them

  std::deque<Parameter> items_;  // a deque keeps references valid
  int64_t arena_ = 0;
  Tensor values_, gradients_;
};

// Random vectors that are orthogonal within blocks, for random features (FAVOR+) of lower variance than with
// independent vectors: (count, width) in row-major order. The rows form blocks of `width`, the last possibly shorter.
// The rows of a block are orthogonal, with uniformly distributed directions and the lengths of standard normal vectors.
// A pure function of its arguments.
std::vector<double> orthogonal_normal_rows(int64_t count, int64_t width, uint64_t seed, uint64_t stream);

}  // namespace gyre
