#include "tools/page/tape/gradient_differences.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "gyre/autograd/gradcheck/gradcheck.h"
#include "tools/page/tape/step_costs.h"

namespace gyre {
namespace {

constexpr double kForwardFlops = 6e10;  // FLOPs of all evaluations of the loss
constexpr double kEvaluations = 4;      // number of evaluations of central_difference()
constexpr int64_t kPerNode = 3;

// Flat indices of the elements of a sample, those of the largest magnitude first.
std::vector<int64_t> largest_elements(const TensorSample& sample, size_t most) {
  std::vector<std::pair<float, int64_t>> elements;  // minus the magnitude, and the index
  const int64_t columns = sample.shape.rank() == 0 ? 1 : sample.shape[-1];
  for (size_t b = 0; b < sample.blocks.size(); ++b) {
    const SampleBlock& block = sample.blocks[b];
    for (int64_t i = 0; i < block.elements(); ++i) {
      const float value = sample.values[b][size_t(i)];
      const int64_t row = block.row + i / block.columns, column = block.column + i % block.columns;
      if (std::isfinite(value)) elements.emplace_back(-std::abs(value), row * columns + column);
    }
  }
  const size_t count = std::min(most, elements.size());
  std::partial_sort(elements.begin(), elements.begin() + std::ptrdiff_t(count), elements.end());
  std::vector<int64_t> indices;
  for (size_t i = 0; i < count; ++i) indices.push_back(elements[i].second);
  return indices;
}

void convert_to_f64(Parameters& parameters) {
  std::vector<Tensor> values;
  for (const Parameter& p : parameters) values.push_back(p.value);
  const Device device = parameters.values().device();
  parameters.allocate(0, DType::f64, device);  // the initial values are overwritten
  for (const Parameter& p : parameters) p.value.copy_from(values[size_t(p.index)].to_cpu().to(DType::f64).to(device));
}

// Adds a number to one element of the value of a node, as soon as the node is recorded.
class Shift final : public TapeObserver {
 public:
  Shift(int node, int64_t element) : node_(node), element_(element) {}
  const Tensor& amount() const { return amount_; }
  void on_record(const Tape& tape, int number) override {
    if (number != node_) return;
    const Tensor& value = tape.nodes()[size_t(number)].value;
    const Tensor place = value.reshape({value.size()}).slice(element_, element_ + 1);
    const double shifted = place.to_cpu().to(DType::f64).data<double>()[0] + amount_.data<double>()[0];
    place.copy_from(Tensor::from<double>({1}, {shifted}));
  }

 private:
  int node_;
  int64_t element_;
  Tensor amount_ = Tensor::zeros({1}, DType::f64);
};

// The loss in f64, as a function of an element of a parameter or of an op's output.
class LossDifferences {
 public:
  LossDifferences(Workload& work, Kernels& kernels) : work_(work), kernels_(kernels) {}

  double of_parameter(const Tensor& value, int64_t element) {
    const PerturbedFunction f{{{"", value}}, [this] { return loss(false, nullptr); }, one_};
    return central_difference(f, 0, element, step_).value;
  }
  double of_output(int node, int64_t element) {
    Shift shift(node, element);
    const PerturbedFunction f{{{"", shift.amount()}}, [&] { return loss(true, &shift); }, one_};
    return central_difference(f, 0, 0, step_).value;
  }

 private:
  Tensor loss(bool record, TapeObserver* observer) const {
    Tape::Options options = page_tape_options(Precision::fp32);
    options.record = record;
    Tape tape(kernels_, options);
    if (observer != nullptr) tape.add_observer(*observer);
    return work_.loss(tape).loss.value().to_cpu();
  }

  const double step_ = gradcheck_step(DType::f32);  // small: the loss has kinks, as of relu
  const Tensor one_ = Tensor::from<double>({1}, {1});
  Workload& work_;
  Kernels& kernels_;
};

}  // namespace

std::vector<std::vector<int64_t>> elements_to_measure(const std::vector<TapeRow>& rows,
                                                      const std::vector<RecordedNode>& nodes, int64_t most) {
  double flops = 0;
  for (const TapeRow& row : rows) flops += row.flops;
  const int64_t total = std::min(most, int64_t(kForwardFlops / (kEvaluations * std::max(flops, 1.0))));
  const int64_t tensors = std::ranges::count_if(nodes, [](const RecordedNode& n) { return n.gradient.has_value(); });
  std::vector<std::vector<int64_t>> elements(nodes.size());
  if (total <= 0 || tensors == 0) return elements;
  const int64_t each = std::clamp<int64_t>(total / tensors, 1, kPerNode), stride = (tensors + total - 1) / total;
  int64_t number = 0;
  for (size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].gradient && number++ % stride == 0) elements[i] = largest_elements(*nodes[i].gradient, size_t(each));
  return elements;
}

std::vector<std::vector<GradientDifference>> gradient_differences(Workload& work, Kernels& kernels,
                                                                  const std::vector<TapeRow>& rows,
                                                                  const std::vector<RecordedNode>& nodes,
                                                                  int64_t most) {
  const std::vector<std::vector<int64_t>> elements = elements_to_measure(rows, nodes, most);
  std::vector<std::vector<GradientDifference>> all(nodes.size());
  if (std::ranges::all_of(elements, [](const auto& own) { return own.empty(); })) return all;
  convert_to_f64(work.parameters());
  LossDifferences differences(work, kernels);
  for (const TapeRow& row : rows) {
    const Parameter* parameter = row.parameter.empty() ? nullptr : work.parameters().find(row.parameter);
    const int64_t columns = row.shape.rank() == 0 ? 1 : row.shape[-1];
    for (const int64_t element : elements[size_t(row.id)]) {
      const double value = parameter != nullptr ? differences.of_parameter(parameter->value, element)
                                                : differences.of_output(row.id, element);
      if (std::isfinite(value)) all[size_t(row.id)].push_back({element / columns, element % columns, value});
    }
  }
  return all;
}

}  // namespace gyre
