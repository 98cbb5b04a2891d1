# Hosts on one machine, for scripts: network namespaces on a switch, with links of a rate of one's choice. Sourced.
# Needs root's rights (ip netns, tc); make_hosts says so and returns 77 without.
#   remove_hosts           to be called at the end, whatever happened
#   make_hosts N           hosts 1 .. N, 10.77.0.1 .. 10.77.0.N
#   set_links RATE         of every host, each way ("200mbit"); absent: as fast as the machine
#   on_hosts N COMMAND..   mpirun with a rank on each of N hosts, over the links
#   on_host I COMMAND..    a command on host I
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
    echo "skipped: network namespaces take root's rights and iproute2"
    return 77
  fi
  ip netns exec "$switch" ip link add bridge type bridge || { echo "skipped: the kernel has no bridges"; return 77; }
  ip netns exec "$switch" ip link set bridge up
  for ((i = 1; i <= $1; ++i)); do
    hosts=$i
    ip netns add "$(host_name "$i")"
    ip netns exec "$(host_name "$i")" ip link set lo up
    # TCP gives up a host that does not answer after 10 s, not 15 minutes: until then mpirun waits for its daemon there.
    ip netns exec "$(host_name "$i")" sh -c 'echo 5 > /proc/sys/net/ipv4/tcp_retries2'
    ip link add eth0 netns "$(host_name "$i")" type veth peer name "port$i" netns "$switch"
    ip netns exec "$switch" ip link set "port$i" master bridge up
    ip netns exec "$(host_name "$i")" ip addr add "10.77.0.$i/24" dev eth0
    ip netns exec "$(host_name "$i")" ip link set eth0 up
  done
  # What mpirun calls in place of ssh. Each host has a folder for temporary files: daemons that share one race for its
  # session directories.
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
