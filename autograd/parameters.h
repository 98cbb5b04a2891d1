// Parameters live in two flat arenas, values and gradients, in the order of their registration. The optimizer, the
// reducer and checkpoints work on ranges of the arenas; layers see one named tensor each.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor.h"

namespace gyre {

// How a parameter starts: each number is a pure function of (seed, name, index).
struct Init {
  enum class Kind : uint8_t { constant, normal, uniform, orthogonal_normal } kind = Kind::constant;
  double value = 0;  // the constant; the standard deviation; the bound
  static Init constant(double c) { return {Kind::constant, c}; }
  static Init normal(double deviation) { return {Kind::normal, deviation}; }
  static Init uniform(double bound) { return {Kind::uniform, bound}; }
  // Rows (n, width) in blocks of `width`, orthogonal in each, with the lengths of standard normal ones (Choromanski et
  // al. 2021).
  static Init orthogonal_normal() { return {Kind::orthogonal_normal}; }
  // Glorot & Bengio 2010, eq. 16: uniform with bound sqrt(6 / (fan_in + fan_out)).
  static Init xavier(int64_t fan_in, int64_t fan_out);
};

// What backward leaves of a lookup of a table's rows where their gradients are kept apart: of row ids[i] it is
// factor * gradient[i].
struct RowGradient {
  Tensor ids;       // (n) i32, on the CPU
  Tensor gradient;  // (n, d); undefined before backward
  double factor = 1;
};

struct Parameter {
  std::string name;
  Shape shape;
  Init init;
  bool trainable = true;
  bool is_table = false;  // its rows are looked up, and what else uses it comes after all others in the forward pass
  bool decay = true;      // weight decay applies (matrices); norms and biases say false
  int index = 0;          // position in the store
  int64_t offset = 0;     // first element in the arenas
  Tensor value, gradient;
  // Given: lookups recorded from then on do not add to `gradient`, which is final before their backward.
  std::vector<RowGradient>* row_gradients = nullptr;
};

// Its value becomes that of Parameters::allocate with this seed.
void draw_initial_value(const Parameter& parameter, uint64_t seed);

class Parameters {
 public:
  // Registers; the tensors exist after allocate().
  Parameter& add(std::string name, const Shape& shape, Init init, bool decay = true);
  Parameter& add_table(std::string name, const Shape& shape, Init init);
  // Makes the arenas and fills the values, the same on every device. f64 is for gradient checks.
  void allocate(uint64_t seed, DType dtype = DType::f32, Device device = {});

  size_t count() const { return items_.size(); }
  Parameter& operator[](size_t i) { return items_[i]; }
  const Parameter& operator[](size_t i) const { return items_[i]; }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  Parameter* find(std::string_view name);
  int64_t elements() const;  // numbers the model has, without alignment gaps

  Tensor values() const { return values_; }  // flat; gaps between parameters (alignment to 64 bytes) stay zero
  Tensor gradients() const { return gradients_; }

 private:
  std::deque<Parameter> items_;  // a deque: references stay valid
  int64_t arena_ = 0;
  Tensor values_, gradients_;
};

}  // namespace gyre
