-- Change sheets, each for itself: only what it was made from, only in its time, and unless another sheet is due.
-- KEYS  counter, jobs, due, names, entries, ends; and, made from `entries`: the lines of each name and what is tagged
--       with each tag, in the same slot
-- ARGV  for each: name, the revision it was made from (or 0), earliest (µs), not after (µs), seen (a fence), the name of
--       the sheet that must not be due (or ''), keep | drop, when to look at it again (µs, or ''), text, how many entries
--       to keep, for how long (ms), how many are new; and for each of these: at (µs), tags (a tab before each), text
-- gives now (µs) and for each: the new revision, or 0 if it was not done
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local counter, jobs, due, names, entries, ends = unpack(KEYS)
local last = tonumber(redis.call('GET', counter) or '0')
-- include jobs
-- include histories

local function is_at(name, revision) -- 0: there is none; what is not in our format is at no revision
  local sheet = redis.call('HGET', jobs, name)
  if not sheet then
    return revision == 0
  end
  return tonumber(string.match(sheet, '^1\n(%d+)\n') or '-1') == revision
end

local function is_due(name) -- as its sheet has it, which is the truth
  local acts_at = string.match(redis.call('HGET', jobs, name) or '', '^1\n%d+\n(%-?%d+)\n')
  return acts_at and tonumber(acts_at) <= now
end

local function next_revision(seen, before, count) -- counted before anything is changed: so none is ever given twice
  local revision = math.max(last + 1, now, seen + 1, before + 1)
  last = revision + math.max(count - 1, 0)
  redis.call('SET', counter, text(last))
  return revision
end

local function drop(name)
  redis.call('HDEL', jobs, name)
  redis.call('ZREM', due, name)
  redis.call('ZREM', names, name)
  forget_history(name, redis.call('ZCARD', lines_of(name)))
  if redis.call('HLEN', jobs) == 1 then
    redis.call('DEL', jobs, due, names)
  end
end

local function keep(name, revision, acts_at, sheet)
  if redis.call('HSET', jobs, name, table.concat({'1', text(revision), acts_at, sheet}, '\n')) == 1 then
    redis.call('ZADD', names, 0, name)
    if redis.call('HLEN', jobs) == 1 then
      redis.call('HSET', jobs, '', text(revision))
      redis.call('ZADD', due, '+inf', '')
      redis.call('ZADD', names, 0, '')
    end
  end
  if acts_at == '' then
    redis.call('ZREM', due, name)
  else
    redis.call('ZADD', due, acts_at, name)
  end
end

local function amend(first) -- gives the answer, and where the next change begins
  local name, before, earliest, not_after, seen, unless_due, what, acts_at, sheet, most, lasts, count =
    unpack(ARGV, first, first + 11)
  before, count = tonumber(before), tonumber(count)
  local after = first + 12 + 3 * count
  if not is_at(name, before) or now < tonumber(earliest) or now > tonumber(not_after) then
    return 0, after
  end
  if unless_due ~= '' and is_due(unless_due) then
    return 0, after
  end
  local revision = next_revision(tonumber(seen), before, count)
  if what == 'drop' then
    drop(name)
    return revision, after
  end
  keep(name, revision, acts_at, sheet)
  if count > 0 then
    note(name, revision, tonumber(most), tonumber(lasts), first + 12, count)
  end
  return revision, after
end

local answers, place = {now}, 1
while place <= #ARGV do
  answers[#answers + 1], place = amend(place)
end
return answers
