// The CPU backend. Every file in core/cpu is compiled once per instruction set (x86-64-v2, -v3, -v4), each time into a
// namespace of its own (GYRE_CPU_NAMESPACE); core/cpu_kernels.cpp chooses at run time.
#pragma once

#include "core/kernels.h"

namespace gyre::GYRE_CPU_NAMESPACE {

class CpuKernels final : public Kernels {
 public:
  std::string name() const override;
  Device device() const override { return {}; }
  bool has_bf16() const override;
  void set_tf32(bool) override {}  // Precision::tf32 is refused before

  void linear(const Tensor& y, const Tensor& x, const Tensor& w, const Tensor& bias) override;
  void linear_backward(const Tensor& dx, const Tensor& dw, const Tensor& dbias, const Tensor& dy, const Tensor& x,
                       const Tensor& w) override;
  void linear_activation(const Tensor& y, const Tensor& pre, const Tensor& x, const Tensor& w, const Tensor& bias,
                         Activation kind, const DropoutMask& mask) override;
  void linear_activation_backward(const Tensor& dx, const Tensor& dw, const Tensor& dbias, const Tensor& dy,
                                  const Tensor& x, const Tensor& w, const Tensor& saved, Activation kind,
                                  const DropoutMask& mask) override;
  void add(const Tensor& out, const Tensor& a, const Tensor& b) override;
  void scale(const Tensor& out, const Tensor& a, double factor) override;
  void activation(const Tensor& y, const Tensor& x, Activation kind) override;
  void activation_backward(const Tensor& dx, const Tensor& dy, const Tensor& x, Activation kind) override;
  void dropout(const Tensor& y, const Tensor& x, const Tensor& residual, const DropoutMask& mask) override;
  void layer_norm(const Tensor& y, const Tensor& mean, const Tensor& rstd, const Tensor& x, const Tensor& gamma,
                  const Tensor& beta, double epsilon) override;
  void layer_norm_backward(const Tensor& dx, const Tensor& dgamma, const Tensor& dbeta, const Tensor& dy,
                           const Tensor& x, const Tensor& gamma, const Tensor& mean, const Tensor& rstd) override;
  void residual_layer_norm(const Tensor& y, const Tensor& sum, const Tensor& mean, const Tensor& rstd, const Tensor& x,
                           const Tensor& residual, const Tensor& gamma, const Tensor& beta, double epsilon,
                           const DropoutMask& mask) override;
  void residual_layer_norm_backward(const Tensor& dx, const Tensor& dresidual, const Tensor& dgamma,
                                    const Tensor& dbeta, const Tensor& dy, const Tensor& sum, const Tensor& gamma,
                                    const Tensor& mean, const Tensor& rstd, const DropoutMask& mask) override;
  void embedding(const Tensor& y, const Tensor& table, const Tensor& ids, double factor) override;
  void embedding_backward(const Tensor& dtable, const Tensor& dy, const Tensor& ids, double factor) override;
  void rotary_angles(const Tensor& angles, const Tensor& frequencies, const Rotary& rotary) override;
  void rope(const HeadColumns& y, const HeadColumns& x, const Tensor& positions, const Tensor& angles,
            const Rotary& rotary, int64_t width, bool inverse) override;
  void rope_frequencies_backward(const Tensor& dfrequencies, const Tensor& dy, const Tensor& y, const Tensor& positions,
                                 const Rotary& rotary) override;
  void attention(const Tensor& out, const Tensor& lse, const HeadColumns& q, const HeadColumns& k, const HeadColumns& v,
                 const Segments& queries, const Segments& keys, const AttentionShape& shape,
                 const AttentionRotation& rotation, const AttentionTerms& terms) override;
  void attention_backward(const HeadColumns& dq, const HeadColumns& dk, const HeadColumns& dv,
                          const Tensor& dfrequencies, const AttentionTerms& dterms, const Tensor& dout,
                          const HeadColumns& q, const HeadColumns& k, const HeadColumns& v, const Tensor& lse,
                          const Segments& queries, const Segments& keys, const AttentionShape& shape,
                          const AttentionRotation& rotation, const AttentionTerms& terms) override;
  void attention_over_steps(const Tensor& out, const std::vector<Tensor>& steps, const Tensor& path,
                            const AttentionShape& shape, const AttentionTerms& terms) override;
  void head_dots(const Tensor& y, const Tensor& x, const Tensor& w, double factor) override;
  void head_dots_backward(const Tensor& dx, const Tensor& dw, const Tensor& dy, const Tensor& x, const Tensor& w,
                          double factor) override;
  void linear_sums(const Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const Segments& segments,
                   int heads, SumDirection direction) override;
  void head_softmax(const Tensor& y, const Tensor& x, int heads) override;
  void head_softmax_backward(const Tensor& dx, const Tensor& dy, const Tensor& y, int heads) override;
  void favor_features(const Tensor& y, const Tensor& p, const Tensor& x, int heads, double factor) override;
  void favor_features_backward(const Tensor& dp, const Tensor& dx, const Tensor& dy, const Tensor& p, const Tensor& x,
                               int heads, double factor) override;
  void head_quotients(const Tensor& y, const Tensor& a, const Tensor& b, double epsilon) override;
  void head_quotients_backward(const Tensor& da, const Tensor& db, const Tensor& dy, const Tensor& a, const Tensor& b,
                               double epsilon) override;
  void cross_entropy(const Tensor& sums, const Tensor& lse, const Tensor& logits, const Tensor& targets,
                     double smoothing) override;
  void cross_entropy_backward(const Tensor& dlogits, const Tensor& logits, const Tensor& targets, const Tensor& lse,
                              double smoothing, double dloss) override;
  void squared_error(const Tensor& sums, const Tensor& predictions, const Tensor& targets) override;
  void squared_error_backward(const Tensor& dpredictions, const Tensor& predictions, const Tensor& targets,
                              double dloss) override;
  void log_softmax(const Tensor& out, const Tensor& x) override;
  void largest(const Tensor& values, const Tensor& columns, const Tensor& x, int64_t also) override;
  std::vector<double> block_squares(const Tensor& x) override;
  void adam(const Tensor& value, const Tensor& m, const Tensor& v, const Tensor& gradient,
            const AdamStep& step) override;
  void moving_average(const Tensor& average, const Tensor& value, double decay) override;
};

}  // namespace gyre::GYRE_CPU_NAMESPACE
