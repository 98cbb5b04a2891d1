# Lists the kernels of the last training step in the CSV output of Nsight Compute, whose fields are split at '","', with
# the metrics gpu__time_duration.sum in ns and dram__bytes.sum. step: milliseconds of a step without ncu.
function short(name) {
  gsub(/\(anonymous namespace\)::|<unnamed>::|gyre::cuda::/, "", name)
  gsub(/\((int|long|bool|unsigned int)\)/, "", name) # casts of template arguments
  sub(/^void /, "", name)
  sub(/\(.*$/, "", name) # the parameters
  return substr(name, 1, 90)
}
/"ID","Process ID"/ {
  for (i = 1; i <= NF; ++i) { field = $i; gsub(/"/, "", field); column[field] = i }
  next
}
column["Metric Value"] && NF >= column["Metric Value"] {
  id = $1; gsub(/"/, "", id)
  value = $(column["Metric Value"]); gsub(/[",]/, "", value)
  if (!(id in number)) { number[id] = ++launches; name[launches] = $(column["Kernel Name"]) }
  if ($(column["Metric Name"]) == "gpu__time_duration.sum") nanoseconds[number[id]] = value
  else bytes[number[id]] = value
}
END {
  for (i = 1; i <= launches; ++i) if (name[i] ~ /judge_kernel/) { begin = end; end = i }
  if (!begin) exit 1
  for (i = begin + 1; i <= end; ++i) {
    kernel = short(name[i])
    ++count[kernel]; time[kernel] += nanoseconds[i]; moved[kernel] += bytes[i]; sum += nanoseconds[i]
  }
  if (!sum) exit 1
  printf "%d kernels take %.2f ms of a step of %.2f ms\n\n", end - begin, sum / 1e6, step
  printf "%9s %6s %7s %8s  kernel\n", "ms", "share", "calls", "GB/s"
  sorted = "sort -k1,1nr"
  for (kernel in time)
    printf "%9.3f %5.1f%% %7d %8.0f  %s\n", time[kernel] / 1e6, 100 * time[kernel] / sum, count[kernel],
           moved[kernel] / (time[kernel] > 0 ? time[kernel] : 1), kernel | sorted
  close(sorted)
}
