import legend from "../content/legend.json" with { type: "json" };
import { say } from "../language.js";
import { KINDS, Sign } from "../marks.js";
import { SIGNS, type Tone } from "../picture/status.js";

/** The meaning of signs. */
export function Legend() {
  const tones = Object.entries(legend.tones) as [Tone, string][];
  return (
    <div class="legend">
      <h3>{say("Legend")}</h3>
      <ul class="cluster-signs">
        {tones.map(([tone, meaning]) => (
          <li key={tone} class={tone}>
            <span class="sign-of">{SIGNS[tone]}</span> {say(meaning)}
          </li>
        ))}
      </ul>
      <ul>
        {KINDS.map(([kind, meaning]) => (
          <li key={kind}>
            <Sign kind={kind} /> {say(meaning)}
          </li>
        ))}
      </ul>
    </div>
  );
}
