import { isRecord, isSet } from "../../../util/records.js";

/**
 * The metrics of autoscaling/v2 in v1's form, which only annotations contain, and back.
 * Mirrors Convert_autoscaling_…MetricSource_To_v1_… in pkg/apis/autoscaling/v1/conversion.go.
 */

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf(value: unknown): Fields {
  return isRecord(value) ? value : {};
}

/** Without absent members. */
function present(members: Fields): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => isSet(value)));
}

/** `[source, to v1, from v1]` */
interface Source {
  toV1(source: Fields): Fields;
  fromV1(source: Fields): Fields;
}

const resource: Source = {
  toV1({ name, container, target, current }) {
    const { averageUtilization, averageValue } = fieldsOf(target ?? current);
    return isSet(target)
      ? { name, targetAverageUtilization: averageUtilization, targetAverageValue: averageValue, container }
      : { name, currentAverageUtilization: averageUtilization, currentAverageValue: averageValue, container };
  },
  fromV1({ name, container, targetAverageUtilization: percent, targetAverageValue: value, ...status }) {
    const isStatus = isSet(status.currentAverageUtilization) || isSet(status.currentAverageValue);
    if (isStatus) {
      const { currentAverageUtilization: averageUtilization, currentAverageValue: averageValue } = status;
      return { name, container, current: present({ averageUtilization, averageValue }) };
    }
    const type = isSet(percent) ? "Utilization" : "AverageValue";
    return { name, container, target: present({ type, averageValue: value, averageUtilization: percent }) };
  },
};

const pods: Source = {
  toV1({ metric, target, current }) {
    const { name: metricName, selector } = fieldsOf(metric);
    if (!isSet(target)) return { metricName, currentAverageValue: fieldsOf(current).averageValue, selector };
    return { metricName, targetAverageValue: fieldsOf(target).averageValue, selector };
  },
  fromV1({ metricName: name, targetAverageValue: averageValue, currentAverageValue, selector }) {
    const metric = present({ name, selector });
    if (isSet(currentAverageValue)) return { metric, current: { averageValue: currentAverageValue } };
    return { metric, target: present({ type: "AverageValue", averageValue }) };
  },
};

const object: Source = {
  toV1({ describedObject, metric, target, current }) {
    const { name: metricName, selector } = fieldsOf(metric);
    const { value, averageValue } = fieldsOf(target ?? current);
    const named = isSet(target) ? { targetValue: value ?? "0" } : { currentValue: value ?? "0" };
    return { target: describedObject, metricName, ...named, selector, averageValue };
  },
  fromV1({ target: describedObject, metricName: name, targetValue: value, currentValue, selector, averageValue }) {
    const metric = present({ name, selector });
    if (isSet(currentValue))
      return { metric, current: present({ value: currentValue, averageValue }), describedObject };
    return { describedObject, target: targetOf(value, averageValue), metric };
  },
};

const external: Source = {
  toV1({ metric, target, current }) {
    const { name: metricName, selector: metricSelector } = fieldsOf(metric);
    const { value, averageValue } = fieldsOf(target ?? current);
    if (isSet(target)) return { metricName, metricSelector, targetValue: value, targetAverageValue: averageValue };
    return { metricName, metricSelector, currentValue: value ?? "0", currentAverageValue: averageValue };
  },
  fromV1({ metricName: name, metricSelector: selector, targetValue, targetAverageValue, ...status }) {
    const metric = present({ name, selector });
    const { currentValue: value, currentAverageValue: averageValue } = status;
    if (isSet(value)) return { metric, current: present({ value, averageValue }) };
    return { metric, target: targetOf(targetValue, targetAverageValue) };
  },
};

function targetOf(value: unknown, averageValue: unknown): Fields {
  if (isSet(averageValue)) return { type: "AverageValue", averageValue };
  return present({ type: "Value", value });
}

const SOURCES: Readonly<Record<string, Source>> = { resource, containerResource: resource, pods, object, external };

function convert(metric: object, how: "toV1" | "fromV1"): Record<string, unknown> {
  const entries = Object.entries(metric).map(([key, value]) => {
    const source = Object.hasOwn(SOURCES, key) ? SOURCES[key] : undefined;
    return [key, source === undefined || !isRecord(value) ? value : present(source[how](value))];
  });
  return Object.fromEntries(entries);
}

export function metricToV1(metric: object): Record<string, unknown> {
  return convert(metric, "toV1");
}

export function metricFromV1(metric: object): Record<string, unknown> {
  return convert(metric, "fromV1");
}
