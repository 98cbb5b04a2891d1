#include "gyre/core/io/element_conversion.h"

#include <cstdint>
#include <cstring>
#include <utility>

#include "gyre/core/error.h"
#include "gyre/core/float16.h"
#include "gyre/core/io/safetensors.h"

namespace gyre {

namespace {

// Calls convert(i, x) for every element of the file, which may be unaligned.
template <class From, class Convert>
void for_each_element(std::span<const std::byte> source, const Convert& convert) {
  for (size_t i = 0; i < source.size() / sizeof(From); ++i) {
    From x;
    std::memcpy(&x, source.data() + i * sizeof x, sizeof x);
    convert(i, x);
  }
}

template <class From>
void to_floats(std::span<const std::byte> source, const Tensor& out) {
  const auto fill = [&]<class To>(To* to) { for_each_element<From>(source, [&](size_t i, From x) { to[i] = To(x); }); };
  if (out.dtype() == DType::f64) return fill(out.data<double>());
  if (out.dtype() == DType::f32) return fill(out.data<float>());
  for_each_element<From>(source, [to = out.data<bfloat16>()](size_t i, From x) { to[i] = bfloat16(float(x)); });
}

template <class From>
void to_int32(std::span<const std::byte> source, const Tensor& out, const std::string& context) {
  for_each_element<From>(source, [&, to = out.data<int32_t>()](size_t i, From x) {
    if (!std::in_range<int32_t>(x)) throw Error(context, "element ", i, " is ", x, ", which i32 cannot hold");
    to[i] = static_cast<int32_t>(x);
  });
}

}  // namespace

void convert_elements(std::string_view file_dtype, std::span<const std::byte> source, const Tensor& out,
                      const std::string& context) {
  if (out.dtype() != DType::i32) {
    if (file_dtype == "F16") return to_floats<float16>(source, out);
    if (file_dtype == "BF16") return to_floats<bfloat16>(source, out);
    if (file_dtype == "F32") return to_floats<float>(source, out);
    if (file_dtype == "F64") return to_floats<double>(source, out);
  } else {
    if (file_dtype == "BOOL" || file_dtype == "U8") return to_int32<unsigned char>(source, out, context);
    if (file_dtype == "I8") return to_int32<signed char>(source, out, context);
    if (file_dtype == "U16") return to_int32<uint16_t>(source, out, context);
    if (file_dtype == "I16") return to_int32<int16_t>(source, out, context);
    if (file_dtype == "U32") return to_int32<uint32_t>(source, out, context);
    if (file_dtype == "I32") return to_int32<int32_t>(source, out, context);
    if (file_dtype == "U64") return to_int32<uint64_t>(source, out, context);
    if (file_dtype == "I64") return to_int32<int64_t>(source, out, context);
  }
  throw Error(context, "expected ", safetensors_dtype(out.dtype()), ", got ", file_dtype);
}

}  // namespace gyre
