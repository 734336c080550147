// Loaded before the service: lets its clock jump 20 hours ahead, every `SOAK_JUMP_SECONDS` seconds after `SOAK_STARTED_AT`. What the
// service keeps for a month then goes within a soak. Between two jumps the clock runs as usual, and whatever lasts a day survives one.

const jumpMs = 20 * 3_600_000;
const everyMs = Number(process.env['SOAK_JUMP_SECONDS']) * 1000;
const realNow = Date.now;
const startedAt = Number(process.env['SOAK_STARTED_AT']);

Date.now = () => {
  const now = realNow();
  return now + Math.floor((now - startedAt) / everyMs) * jumpMs;
};
