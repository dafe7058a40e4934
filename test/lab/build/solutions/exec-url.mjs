export function execUrl({ namespace, pod, container }, command, streams) {
  const query = new URLSearchParams();
  for (const word of command) query.append("command", word);
  if (container) query.append("container", container);
  for (const name of ["stderr", "stdin", "stdout", "tty"]) if (streams[name]) query.append(name, "true");
  return `/api/v1/namespaces/${namespace}/pods/${pod}/exec?${query}`;
}

export function streamsToOpen({ stdin, stdout, stderr, tty }) {
  const streams = ["error"];
  if (stdin) streams.push("stdin");
  if (stdout) streams.push("stdout");
  if (stderr && !tty) streams.push("stderr");
  if (tty) streams.push("resize");
  return streams;
}
