-- Change sheets, each for itself: only what it was made from, and only in its time.
-- KEYS  counter, jobs, due, then for each: history
-- ARGV  for each: name, the revision it was made from (or 0), earliest (µs), not after (µs), seen (a fence),
--       keep | drop, when to look at it again (µs, or ''), text, how many entries to keep, for how long (ms),
--       how many are new; and for each of these: at (µs), text
-- gives now (µs) and for each: the new revision, or 0 if it was not done
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local counter, jobs, due = unpack(KEYS, 1, 3)
local last = tonumber(redis.call('GET', counter) or '0')
-- include jobs

local function is_at(name, revision) -- 0: there is none; what is not in our format is at no revision
  local sheet = redis.call('HGET', jobs, name)
  if not sheet then
    return revision == 0
  end
  return tonumber(string.match(sheet, '^1\n(%d+)\n') or '-1') == revision
end

local function next_revision(seen, before) -- counted before anything is changed: so none is ever given twice
  last = math.max(last + 1, now, seen + 1, before + 1)
  redis.call('SET', counter, text(last))
  return last
end

local function drop(name, history)
  redis.call('HDEL', jobs, name)
  redis.call('ZREM', due, name)
  redis.call('DEL', history)
  if redis.call('HLEN', jobs) == 1 then
    redis.call('DEL', jobs, due)
  end
end

local function keep(name, revision, acts_at, sheet)
  local is_new = redis.call('HSET', jobs, name, table.concat({'1', text(revision), acts_at, sheet}, '\n')) == 1
  if is_new and redis.call('HLEN', jobs) == 1 then
    redis.call('HSET', jobs, '', text(revision))
    redis.call('ZADD', due, '+inf', '')
  end
  if acts_at == '' then
    redis.call('ZREM', due, name)
  else
    redis.call('ZADD', due, acts_at, name)
  end
end

local function note(history, revision, most, lasts, first, count)
  for number = 0, count - 1 do
    local at, entry = unpack(ARGV, first + 2 * number, first + 2 * number + 1)
    redis.call('ZADD', history, at, string.format('%020.0f %06d\n', revision, number) .. entry)
  end
  redis.call('ZREMRANGEBYSCORE', history, '-inf', text(now - lasts * 1000))
  redis.call('ZREMRANGEBYRANK', history, 0, -most - 1)
  redis.call('PEXPIRE', history, lasts)
end

local function amend(history, first) -- gives the answer, and where the next change begins
  local name, before, earliest, not_after, seen, what, acts_at, sheet, most, lasts, count =
    unpack(ARGV, first, first + 10)
  before, count = tonumber(before), tonumber(count)
  local after = first + 11 + 2 * count
  if not is_at(name, before) or now < tonumber(earliest) or now > tonumber(not_after) then
    return 0, after
  end
  local revision = next_revision(tonumber(seen), before)
  if what == 'drop' then
    drop(name, history)
    return revision, after
  end
  keep(name, revision, acts_at, sheet)
  if count > 0 then
    note(history, revision, tonumber(most), tonumber(lasts), first + 11, count)
  end
  return revision, after
end

local answers, place = {now}, 1
for number = 4, #KEYS do
  answers[number - 2], place = amend(KEYS[number], place)
end
return answers
