/** The value of the grpc-timeout header: at most eight digits and a unit. */
export function grpcTimeout(timeoutMs: number): string {
  const ms = Math.max(1, Math.ceil(timeoutMs));
  if (ms < 100_000_000) return `${ms}m`;
  return `${Math.min(99_999_999, Math.ceil(ms / 1000))}S`;
}
