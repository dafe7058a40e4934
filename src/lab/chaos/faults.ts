import { INJECTIONS } from "../labs/format/injection-table.js";

type Injection = (typeof INJECTIONS)[string];

/** An injection that is a fault. */
type KnownFault = Injection & Required<Pick<Injection, "inRealLife">>;

/** The faults of scenarios: the injections of the labs that break something. */
export const FAULTS: Readonly<Record<string, KnownFault>> = Object.fromEntries(
  Object.entries(INJECTIONS).flatMap(([name, one]) =>
    one.inRealLife === undefined ? [] : [[name, { ...one, inRealLife: one.inRealLife }]],
  ),
);
