/**
 * An age as kubectl shows it: two units for short ages.
 * Mirrors k8s.io/apimachinery/pkg/util/duration (HumanDuration).
 */
export function humanDuration(ms: number): string {
  const seconds = Math.trunc(ms / 1000);
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.trunc(seconds / 60);
  if (minutes < 10) return twoUnits(minutes, "m", seconds % 60, "s");
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.trunc(minutes / 60);
  if (hours < 8) return twoUnits(hours, "h", minutes % 60, "m");
  if (hours < 48) return `${hours}h`;
  const days = Math.trunc(hours / 24);
  if (hours < 192) return twoUnits(days, "d", hours % 24, "h");
  if (days < 730) return `${days}d`;
  const years = Math.trunc(days / 365);
  if (days < 8 * 365) return twoUnits(years, "y", days % 365, "d");
  return `${years}y`;
}

function twoUnits(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit}${small}${smallUnit}`;
}
