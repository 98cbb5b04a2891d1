# The mutations of test.sh for the CUDA kernels: mutation NAME UNIT FILE OLD NEW OPTIONS. OLD must occur once in FILE; UNIT
# is the .cu file that is compiled with the change. OPTIONS choose the tests, of which one must fail: `ops TEXT` the rows
# of the op table with the text in their names, `core TEST_CASE` those of tests/core, `train TEST_CASE` those of
# tests/train, `ranks TEST_CASE` those of tests/mpi on two ranks with NCCL. `hopper TEXT` and `nan TEXT` run rows of
# the op table, also beside NaN, with the kernels for compute capability 9.0.

# ---- Barriers ----
mutation "layer norm: the sums of warps are read before they are written" \
  core/cuda/layer_norm.cu core/cuda/layer_norm.cu \
  '    Team::barrier();
    for (int i = 0; i < count; ++i) {' \
  '    for (int i = 0; i < count; ++i) {' \
  ops layer_norm/several-strips
mutation "layer norm backward: rounds of the sum over teams overlap" \
  core/cuda/layer_norm.cu core/cuda/layer_norm.cu \
  '      __syncthreads();                              // the previous round has been read' '' \
  ops layer_norm/odd-sizes
mutation "cross-entropy: the sums of warps are read before they are written" \
  core/cuda/loss/cross_entropy.cu core/cuda/numbers.h \
  '  __syncthreads();
  return warp_sum' \
  '  return warp_sum' \
  ops cross_entropy/smoothing
mutation "linear attention: the state changes while other warps read it" \
  core/cuda/linear_attention/linear_attention_scan.cu core/cuda/linear_attention/linear_attention_scan.cu \
  '      __syncthreads();  // the old state has been read' '' \
  ops linear_attention_scan/
mutation "attention forward: keys are overwritten while other warps read them" \
  core/cuda/attention/attention_plain.cu core/cuda/attention/attention_plain.cu \
  '    __syncthreads();  // the previous keys have been read' '' \
  ops attention/self
mutation "attention backward: gradients are staged in keys and values that other warps read" \
  core/cuda/attention/attention_tensor_backward.cu core/cuda/attention/attention_tensor_backward.cu \
  '  __syncthreads();  // the weights are in shared memory, the keys and values have been read' '' \
  ops attention/packed
mutation "attention on tensor cores: lanes read the rows of others too early" \
  core/cuda/attention/attention_tensor.cu core/cuda/attention/attention_tiles.h \
  '  __syncwarp();
  for_each_pack<Width>(strip, [&](int i, int f) {
    if (i < to.count)' \
  '  for_each_pack<Width>(strip, [&](int i, int f) {
    if (i < to.count)' \
  ops attention/tiles-c
mutation "attention on tensor cores: lanes read the queries that others copy (no order of the threads shows it)" \
  core/cuda/attention/attention_tensor.cu core/cuda/attention/attention_tensor.cu \
  '  wait_copies<1>();
  __syncwarp();
  const StripInRegisters' \
  '  wait_copies<1>();
  const StripInRegisters' \
  ops attention/tiles-c

mutation "NorMuon: the moments of a row change while other threads read them" \
  core/cuda/muon.cu core/cuda/muon.cu \
  '  const T before = moments[blockIdx.x];
  T sum = 0;' \
  '  if (threadIdx.x == 0) moments[blockIdx.x] *= keep;
  const T before = moments[blockIdx.x];
  T sum = 0;' \
  train 'optimizers compute*'

# ---- Asynchronous copies ----
mutation "attention on tensor cores: a wait for one group of copies too few" \
  core/cuda/attention/attention_tensor.cu core/cuda/attention/attention_tiles.h \
  '    wait_copies<0>();
    __syncthreads();  // this pair is loaded' \
  '    wait_copies<1>();
    __syncthreads();  // this pair is loaded' \
  ops attention/tiles-c
mutation "attention on tensor cores: the values are not committed" \
  core/cuda/attention/attention_tensor.cu core/cuda/attention/attention_tensor.cu \
  '  commit_copies();
  wait_copies<1>();
  __syncthreads();' \
  '  wait_copies<1>();
  __syncthreads();' \
  ops attention/packed

# ---- Asynchronous instructions of compute capability 9.0 ----
mutation "Hopper: the keys are read before they are loaded" \
  core/cuda/attention/hopper_forward.cu core/cuda/attention/hopper_forward.cu \
  '    stage.wait_until_full();' '' \
  hopper attention/tiles-stages
mutation "Hopper: the loading warp waits for the other parity" \
  core/cuda/attention/hopper_forward.cu core/cuda/attention/hopper_attention.h \
  'wait(parity ^ 1)' 'wait(parity)' \
  hopper attention/tiles-stages
mutation "Hopper: consumers do not release a stage" \
  core/cuda/attention/hopper_backward.cu core/cuda/attention/hopper_attention.h \
  '    if (lane_of_warp() == 0) full[Stages + number].arrive();' '' \
  hopper attention/tiles-stages
mutation "Hopper: half of the bytes of a stage are expected" \
  core/cuda/attention/hopper_forward.cu core/cuda/attention/hopper_attention.h \
  'full.expect(2 * Other::kBytes);' 'full.expect(Other::kBytes);' \
  hopper attention/tiles-stages
mutation "Hopper: products do not see the cleared rows" \
  core/cuda/attention/hopper_forward.cu core/cuda/attention/hopper_attention.h \
  '  fence_async();' '' \
  hopper attention/tiles-stages
mutation "Hopper: the rows of a neighbor are not cleared" \
  core/cuda/attention/hopper_backward.cu core/cuda/attention/hopper_backward.cu \
  '        clear_rows(q, w.count_other - i0);' '' \
  nan attention/tiles-stages
mutation "Hopper: shared memory for one stage too few" \
  core/cuda/attention/hopper_backward.cu core/cuda/attention/hopper_attention.h \
  'size_t{2 * kStages} * Other::kBytes' 'size_t{2 * kStages - 2} * Other::kBytes' \
  hopper attention/tiles-stages
mutation "Hopper: products are not committed" \
  core/cuda/attention/hopper_backward.cu core/cuda/attention/hopper_backward.cu \
  '        commit_products();
        wait_products<0>(dv, dk);' '        wait_products<0>(dv, dk);' \
  hopper attention/tiles-stages
mutation "Hopper: gradients are staged in tiles that another warpgroup reads" \
  core/cuda/attention/hopper_backward.cu core/cuda/attention/hopper_backward.cu \
  '  consumer_barrier();  // all tiles have been read
  const StagedSums' '  const StagedSums' \
  hopper attention/tiles-stages
mutation "Hopper: no wgmma.fence after the weights are rounded" \
  core/cuda/attention/hopper_forward.cu core/cuda/attention/hopper_forward.cu \
  '      round_operands(weights, scores);
      fence_products(out, weights);' '      round_operands(weights, scores);' \
  hopper attention/tiles-stages

# ---- Sizes and guards ----
mutation "attention on tensor cores: shared memory for one tile too few" \
  core/cuda/attention/attention_tensor.cu core/cuda/attention/attention_tensor.cu \
  '3 * Tile<width()>::kBytes' '2 * Tile<width()>::kBytes' \
  ops attention/packed
mutation "attention on tensor cores: rows behind the end of a segment are stored" \
  core/cuda/attention/attention_tensor.cu core/cuda/attention/attention_tiles.h \
  '    if (i < to.count)
      store_pack(' \
  '      store_pack(' \
  ops attention/tiles-c
mutation "launch: a kernel may not have more shared memory than at its first launch" \
  core/cuda/runtime/launch.cu core/cuda/runtime/launch.cu \
  'if (bytes <= most)' 'if (most > 0)' \
  ops cross_entropy/
mutation "linear attention: shared memory for half of the state" \
  core/cuda/linear_attention/linear_attention_scan.cu core/cuda/linear_attention/linear_attention_scan.cu \
  'size_t(a.q.width) * kSide * sizeof(T)' 'size_t(a.q.width) / 2 * kSide * sizeof(T)' \
  ops linear_attention_scan/
mutation "packs at the end of a row are not cut" \
  core/cuda/layer_norm.cu core/cuda/vectors.h \
  'left > most ? most : left' 'most' \
  ops layer_norm/
mutation "embedding: a warp of the last block looks up a row behind the end" \
  core/cuda/embedding.cu core/cuda/embedding.cu \
  '  if (row >= n) return;' '' \
  ops embedding/

# ---- Indices ----
mutation "cross-entropy: the gradient of the target is in the next column" \
  core/cuda/loss/cross_entropy.cu core/cuda/loss/cross_entropy.cu \
  'first + i == target ? gradient' 'first + i == target + 1 ? gradient' \
  ops cross_entropy/plain
mutation "RoPE: the backward pass rotates like the forward pass" \
  core/cuda/rope.cu core/cuda/rope.cu \
  'inverse ? -s[i] : s[i]' 's[i]' \
  ops rope/
mutation "R-Drop: the divergence has the other sign in the gradient of the second pass" \
  core/cuda/loss/cross_entropy.cu core/kernels/element_formulas.inc \
  'constant - divergence *' 'constant + divergence *' \
  ops linear_r_drop
mutation "layer norm backward: the gradient of the branch is not added to that of its bias" \
  core/cuda/layer_norm.cu core/cuda/layer_norm.cu \
  'totals[(2 * parts + p) * N + i] += dx[i];' ';' \
  ops composite/projection-norm
mutation "linear attention: the last row of a chunk is left out" \
  core/cuda/linear_attention/linear_attention_scan.cu core/cuda/linear_attention/linear_attention_scan.cu \
  'for (int j = 0; j < kSide; ++j) sums[r]' 'for (int j = 0; j < kSide - 1; ++j) sums[r]' \
  ops linear_attention_scan/
mutation "attention backward: the sums of the next queries replace those in use" \
  core/cuda/attention/attention_tensor_backward_long.cu core/cuda/attention/attention_tensor_backward_long.cu \
  'sums.put(pair ^ 1, next);' 'sums.put(pair, next);' \
  ops attention/tiles-c
mutation "Adam: a gradient that is not finite is not skipped" \
  core/cuda/optimizer.cu core/cuda/optimizer.cu \
  'if (verdict[kAccepted] != 0) {
    const T factor = T(verdict[kGradientFactor]);
    const GroupFactors<T> group = adam' \
  'if (verdict[kAccepted] != 2) {
    const T factor = T(verdict[kGradientFactor]);
    const GroupFactors<T> group = adam' \
  train 'optimizers compute*'
mutation "maximum of a row: each of equal elements receives the whole gradient" \
  core/cuda/elementary.cu core/cuda/elementary.cu \
  'load(dy + row) / warp_sum(ties)' 'load(dy + row)' \
  ops max/ties-1

# ---- Streams, events and the reuse of memory ----
mutation "uploads: kernels do not wait for the copy" \
  core/cuda/runtime/context.cu core/cuda/runtime/context.cu \
  '  check(cudaStreamWaitEvent(compute_, arrived_), "cudaStreamWaitEvent");' '' \
  core 'cached copies of ids*'
mutation "uploads: the staging buffer is overwritten before its copies have run" \
  core/cuda/runtime/context.cu core/cuda/runtime/context.cu \
  '      check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize(copies)");' '' \
  core 'metadata larger than*'
mutation "uploads: new ids at the address of old ones are not copied" \
  core/cuda/runtime/context.cu core/cuda/runtime/context.cu \
  'if (found != copies_.end() && (' 'if (false && (' \
  core 'new ids at*'
mutation "uploads: memory of freed ids is reused while queued kernels read it" \
  core/cuda/runtime/context.cu core/cuda/runtime/context.cu \
  '  check(cudaEventRecord(retired.last_use, compute_), "cudaEventRecord");' '' \
  core 'new ids at*'
mutation "readback: the CPU reads figures before their copy has arrived" \
  core/cuda/runtime/readback.cu core/cuda/runtime/readback.cu \
  '    check(cudaEventSynchronize(slot_.arrived), "cudaEventSynchronize");' '' \
  core 'a host copy arrives*'
mutation "NCCL: the exchange does not wait for the kernels before it" \
  core/cuda/runtime/nccl.cu core/cuda/runtime/nccl.cu \
  'follow(stream_, context_.stream(), ready_);' '' \
  ranks 'ranks on GPUs exchange*'
mutation "NCCL: the kernels after an exchange do not wait for it" \
  core/cuda/runtime/nccl.cu core/cuda/runtime/nccl.cu \
  'follow(context_.stream(), stream_, done_);' '' \
  ranks 'ranks on GPUs exchange*'
