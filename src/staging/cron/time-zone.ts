/** Reports whether the name is a time zone of the IANA database. Mirrors time.LoadLocation. */
export function isTimeZone(name: string): boolean {
  // JavaScript takes offsets and abbreviations in any case; Go takes the names of files.
  if (!/^[A-Z][A-Za-z0-9_+-]*(\/[A-Za-z0-9_+-]+)*$/.test(name)) return false;
  try {
    return new Intl.DateTimeFormat("en-US", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch {
    return false; // RangeError: the zone is not in the database
  }
}
