#!/usr/bin/env perl
# A server of files on the loopback that fails in the ways of real ones. It serves single byte ranges.
#   archive_server.pl FOLDER PORT_FILE REQUESTS_FILE
# Writes its port to PORT_FILE and each request to REQUESTS_FILE. It ends when its parent ends. Paths are BEHAVIOR/FILE:
#   good           sends the file
#   whole          sends the whole file, even if asked for a range
#   whole-cut      sends half of the whole file, even if asked for a range, and closes the connection
#   cut            sends half of what is left and closes the connection, or all if it is little
#   slow           sends half of dev.tgz and stalls, unless asked for a range
#   corrupt        changes the last byte
#   corrupt-once   changes the last byte when the file is first asked for
#   gone           answers 404
use strict;
use warnings;
use IO::Socket::INET;

my ($folder, $port_file, $requests_file) = @ARGV;
my $parent = getppid();
my $server = IO::Socket::INET->new(Listen => 8, LocalAddr => '127.0.0.1', Proto => 'tcp') or die "no socket: $!";
open(my $requests, '>>', $requests_file) or die "$requests_file: $!";
$requests->autoflush(1);
open(my $port, '>', "$port_file.part") or die "$port_file.part: $!";
print $port $server->sockport();
close($port);
rename("$port_file.part", $port_file);
$SIG{PIPE} = 'IGNORE';
my %asked;

sub serve {
  my ($client) = @_;
  my $request = <$client> // return;
  my $start;
  while (my $line = <$client>) {
    last if $line =~ /^\r?\n$/;
    $start = $1 if $line =~ /^Range: bytes=(\d+)-/i;
  }
  print $requests $request =~ s/\r?\n//r, defined $start ? " from $start" : '', "\n";
  my ($behavior, $name) = $request =~ m{^GET /([a-z-]+)/([A-Za-z0-9.-]+) } or return;
  my $file;
  if ($behavior eq 'gone' || !open($file, '<:raw', "$folder/$name")) {
    print $client "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    return;
  }
  my $body = do { local $/; <$file> };
  my $size = length $body;
  my $first = !$asked{"$behavior/$name"}++;
  if ($behavior eq 'corrupt' || ($behavior eq 'corrupt-once' && $first)) {
    substr($body, -1) = chr(ord(substr($body, -1)) ^ 1);
  }
  undef $start if $behavior =~ /^whole/;
  if (defined $start && $start >= $size) {
    print $client "HTTP/1.1 416 Range Not Satisfiable\r\nContent-Range: bytes */$size\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    return;
  }
  print $client defined $start
    ? "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes $start-" . ($size - 1) . "/$size\r\n"
    : "HTTP/1.1 200 OK\r\n";
  my $rest = substr($body, $start // 0);
  print $client "Content-Length: ", length $rest, "\r\nConnection: close\r\n\r\n";
  my $stalls = $behavior eq 'slow' && $name eq 'dev.tgz' && !defined $start;
  my $half = $stalls || $behavior eq 'whole-cut' || ($behavior eq 'cut' && length $rest > 100);
  print $client $half ? substr($rest, 0, length($rest) / 2) : $rest;
  $client->flush();
  sleep 3 if $stalls;
}

while (getppid() == $parent) {
  $server->timeout(1);
  my $client = $server->accept() or next;
  serve($client);
  close($client);
}
