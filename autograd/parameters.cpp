#include "gyre/autograd/parameters.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "gyre/core/kernels/arguments.h"
#include "gyre/core/parallel_for.h"
#include "gyre/core/random.h"
#include "gyre/core/virtual_gpu/virtual_gpu.h"

namespace gyre {
namespace {

constexpr int64_t kAlignment = 16;  // elements: 64 bytes of f32, and a unit of the optimizer
static_assert(kAlignment % kUpdateUnit == 0);
constexpr int64_t kDrawnTogether = 1 << 14;  // elements of a parameter that one thread draws at a time
constexpr int64_t kMaxElements = std::numeric_limits<int64_t>::max() / 8;  // f64: the byte count fits into int64_t

template <class T>
void fill(T* value, const Parameter& p, uint64_t seed) {
  const uint64_t stream = hash_name(p.name);
  if (p.init.kind == Init::Kind::orthogonal_normal) {
    const std::vector<double> rows = orthogonal_normal_rows(p.shape[0], p.shape[1], seed, stream);
    std::transform(rows.begin(), rows.end(), value, [](double x) { return T(x); });
    return;
  }
  const auto draw = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      switch (p.init.kind) {
        case Init::Kind::constant:
          value[i] = T(p.init.value);
          break;
        case Init::Kind::normal:
          value[i] = T(p.init.value * random_normal(seed, stream, uint64_t(i)));
          break;
        case Init::Kind::uniform:
          value[i] = T(p.init.value * (2 * random_uniform(seed, stream, uint64_t(i)) - 1));
          break;
        case Init::Kind::orthogonal_normal:  // handled above: an element depends on more than its index
          break;
      }
    }
  };
  const int64_t elements = p.shape.elements();
  if (elements <= kDrawnTogether) return draw(0, elements);  // a team of threads would take longer
  parallel_for(size_t((elements + kDrawnTogether - 1) / kDrawnTogether), 1, [&](size_t block) {
    const int64_t begin = int64_t(block) * kDrawnTogether;
    draw(begin, std::min(begin + kDrawnTogether, elements));
  });
}

// The values of all parameters, on the CPU.
Tensor initial_values(const std::deque<Parameter>& items, int64_t elements, uint64_t seed, DType dtype) {
  Tensor initial = Tensor::zeros({elements}, dtype);
  for (const Parameter& p : items) {
    if (dtype == DType::f64) {
      fill(initial.data<double>() + p.offset, p, seed);
    } else {
      fill(initial.data<float>() + p.offset, p, seed);
    }
  }
  return initial;
}

}  // namespace

Init Init::xavier(int64_t fan_in, int64_t fan_out) { return uniform(std::sqrt(6.0 / double(fan_in + fan_out))); }

const Tensor& Parameter::allocated_gradient() {
  if (!gradient) gradient = Tensor::zeros(shape, value.dtype(), value.device());
  return gradient;
}

Parameter& Parameters::add(std::string name, const Shape& shape, Init init, bool decay) {
  require(!values_, "[parameters] ", name, " is added after allocate");
  require(find(name) == nullptr, "[parameters] ", name, " is added twice");
  Parameter& p = items_.emplace_back();
  p.name = std::move(name);
  p.shape = shape;
  p.init = init;
  p.decay = decay;
  p.index = int(items_.size()) - 1;
  p.offset = arena_;
  const int64_t room = (shape.elements() + kAlignment - 1) / kAlignment * kAlignment;
  require(room <= kMaxElements - arena_, "[parameters] expected fewer elements than 64 bits can address, got ", arena_,
          " before ", p.name, ", which has shape ", shape);
  arena_ += room;
  return p;
}

Parameter& Parameters::add_table(std::string name, const Shape& shape, Init init) {
  Parameter& p = add(std::move(name), shape, init);
  p.is_table = true;
  return p;
}

void draw_initial_value(const Parameter& p, uint64_t seed) {
  const Tensor value = Tensor::empty(p.shape, p.value.dtype());
  if (value.dtype() == DType::f64) {
    fill(value.data<double>(), p, seed);
  } else {
    fill(value.data<float>(), p, seed);
  }
  p.value.copy_from(value);
}

void Parameters::allocate(uint64_t seed, DType dtype, Device device) {
  // A virtual GPU keeps no values.
  set_values(device == kVirtualGpu ? Tensor::empty({arena_}, dtype, device)
                                   : initial_values(items_, arena_, seed, dtype).to(device));
}

void Parameters::allocate_zeros(DType dtype, Device device) { set_values(Tensor::zeros({arena_}, dtype, device)); }

void Parameters::set_values(Tensor values) {
  values_ = std::move(values);
  gradients_ = Tensor::zeros({arena_}, values_.dtype(), values_.device());
  for (Parameter& p : items_) {
    const int64_t end = p.offset + p.shape.elements();
    p.value = values_.slice(p.offset, end).reshape(p.shape);
    p.gradient = gradients_.slice(p.offset, end).reshape(p.shape);
  }
}

void Parameters::free_gradients() {
  gradients_ = {};
  for (Parameter& p : items_) p.gradient = {};
}

void Parameters::zero_gradients() {
  if (gradients_) return gradients_.zero();
  for (Parameter& p : items_) p.gradient = {};
}

Parameter* Parameters::find(std::string_view name) {
  for (Parameter& p : items_) {
    if (p.name == name) return &p;
  }
  return nullptr;
}

int64_t Parameters::elements() const {
  int64_t n = 0;
  for (const Parameter& p : items_) n += p.shape.elements();
  return n;
}

namespace {

double dot(const double* a, const double* b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

void scale(double* a, int64_t n, double factor) {
  for (int64_t i = 0; i < n; ++i) a[i] *= factor;
}

// Gram-Schmidt, applied twice to each row: the second pass removes the rounding errors of the first.
void orthonormalize(double* row, const double* block, int64_t before, int64_t width) {
  for (int pass = 0; pass < 2; ++pass) {
    for (int64_t i = 0; i < before; ++i) {
      const double* other = block + i * width;
      const double part = dot(row, other, width);
      for (int64_t f = 0; f < width; ++f) row[f] -= part * other[f];
    }
    scale(row, width, 1 / std::sqrt(dot(row, row, width)));
  }
}

}  // namespace

std::vector<double> orthogonal_normal_rows(int64_t count, int64_t width, uint64_t seed, uint64_t stream) {
  std::vector<double> rows(size_t(count * width));
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = random_normal(seed, stream, i);
  for (int64_t i = 0; i < count; ++i)
    orthonormalize(&rows[size_t(i * width)], &rows[size_t(i / width * width * width)], i % width, width);
  RandomStream lengths(seed, mix(stream, 1));
  for (int64_t i = 0; i < count; ++i) {
    double squares = 0;
    for (int64_t f = 0; f < width; ++f) {
      const double x = lengths.normal();
      squares += x * x;
    }
    scale(&rows[size_t(i * width)], width, std::sqrt(squares));
  }
  return rows;
}

}  // namespace gyre
