-- What was accepted under this rank is settled: note what came with it, as far as that was not done.
-- KEYS  registers, counter, entries, ends; and, made from `entries`: the lines of the name and what is tagged with each tag
-- ARGV  name, number, proposer, revision, keep | drop (its history, too), how many entries to keep, for how long (ms), how
--       many may be new; the revision that each of these came with, in their order; and for each: at (µs), tags (a tab
--       before each), text
-- gives now (µs) and: bare (it has forgotten) | changed (it has accepted something else), the number that it has
--       promised itself to, era | kept
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local registers, counter, entries, ends = unpack(KEYS)
local name, number, proposer, revision, what, most, lasts, count = unpack(ARGV, 1, 8)
-- include cells
-- include histories

local function note_unnoted(cell)
  local skipped = 0
  while skipped < tonumber(count) and tonumber(ARGV[9 + skipped]) <= cell.noted do
    skipped = skipped + 1
  end
  local left, first = count - skipped, 9 + count + 3 * skipped
  if left > 0 then
    local id = math.max(tonumber(redis.call('GET', counter) or '0') + 1, now)
    redis.call('SET', counter, text(id + left - 1))
    note(name, id, tonumber(most), tonumber(lasts), first, left)
  end
end

if not sign then
  return {now, BARE}
end
local cell = known(name)
if cell.accepted ~= tonumber(number) or cell.from ~= tonumber(proposer) then
  return beaten(cell)
end
if cell.noted < tonumber(revision) then
  if what == 'drop' then
    forget_history(name, redis.call('ZCARD', lines_of(name)))
  else
    note_unnoted(cell)
  end
  cell.noted = tonumber(revision)
  keep(name, cell)
end
return {now, KEPT}
