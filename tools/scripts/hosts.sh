# Simulates several hosts on one machine: network namespaces on a bridge, with links of a configurable rate. To be
# sourced. Requires root (ip netns, tc); otherwise make_hosts prints the reason and returns 77.
#   remove_hosts           removes all hosts; call it at the end in any case
#   make_hosts N           creates hosts 1 .. N with addresses 10.77.0.1 .. 10.77.0.N
#   set_links RATE         limits the rate of every host's link in each direction ("200mbit"); without RATE: no limit
#   on_hosts N COMMAND..   mpirun with one rank on each of N hosts, over the links
#   on_host I COMMAND..    runs a command on host I
hosts=0
host_name() { echo "gyre-$$-$1"; }

remove_hosts() {
  local i
  for i in $(seq 1 "$hosts") switch; do ip netns del "$(host_name "$i")" 2> /dev/null || true; done
  [ -z "${temporary:-}" ] || rm -rf "$temporary"
}

make_hosts() {
  local i switch
  switch=$(host_name switch)
  if ! ip netns add "$switch" 2> /dev/null; then
    echo "network namespaces: expected root and iproute2" >&2
    return 77
  fi
  ip netns exec "$switch" ip link add bridge type bridge || { echo "network namespaces: the kernel does not support bridges" >&2; return 77; }
  ip netns exec "$switch" ip link set bridge up
  for ((i = 1; i <= $1; ++i)); do
    hosts=$i
    ip netns add "$(host_name "$i")"
    ip netns exec "$(host_name "$i")" ip link set lo up
    # TCP gives up on a host that does not answer after 10 s instead of 15 minutes: mpirun waits for its daemon until then.
    ip netns exec "$(host_name "$i")" sh -c 'echo 5 > /proc/sys/net/ipv4/tcp_retries2'
    ip link add eth0 netns "$(host_name "$i")" type veth peer name "port$i" netns "$switch"
    ip netns exec "$switch" ip link set "port$i" master bridge up
    ip netns exec "$(host_name "$i")" ip addr add "10.77.0.$i/24" dev eth0
    ip netns exec "$(host_name "$i")" ip link set eth0 up
  done
  # The program that mpirun calls instead of ssh. Each host has its own directory for temporary files, because daemons
  # that share one race for its session directories.
  temporary=$(mktemp -d)
  for ((i = 1; i <= $1; ++i)); do mkdir "$temporary/$i"; done
  agent=$temporary/agent
  printf '#!/bin/sh\nhost=${1##*.}\nshift\nexec ip netns exec gyre-%s-$host env TMPDIR=%s/$host sh -c "$*"\n' $$ "$temporary" > "$agent"
  chmod +x "$agent"
}

on_host() {
  local host=$1
  shift
  ip netns exec "$(host_name "$host")" "$@"
}

set_links() {
  local i
  for ((i = 1; i <= hosts; ++i)); do
    on_host "$i" tc qdisc del dev eth0 root 2> /dev/null || true
    if [ $# -gt 0 ]; then on_host "$i" tc qdisc add dev eth0 root tbf rate "$1" burst 256k latency 50ms; fi
  done
}

on_hosts() {
  local count=$1
  shift
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 on_host 1 mpirun -q --bind-to none -n "$count" \
    --host "$(seq -s , -f '10.77.0.%.0f:1' 1 "$count")" --mca plm_rsh_agent "$agent" --mca btl tcp,self \
    --mca btl_tcp_if_include 10.77.0.0/24 --mca oob_tcp_if_include 10.77.0.0/24 "$@"
}
