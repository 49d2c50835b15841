
-- What was noted. An entry has one id, and is found by it under the name of its history and under each of its tags.

-- include fields

local MOST_FORGOTTEN = 100

local beside = string.sub(entries, 1, -#'~entries' - 1) -- whatever begins so is in the same slot

local function lines_of(name)
  return beside .. name .. '~lines'
end

local function tagged(tag)
  return beside .. tag .. '~tagged'
end

local function id_of(revision, number) -- as short as it can be and still be in order: there are many of them
  return string.format('%014x', revision + number)
end

local function remove(command, key, members)
  for first = 1, #members, MOST_AT_ONCE do
    redis.call(command, key, unpack(members, first, math.min(first + MOST_AT_ONCE - 1, #members)))
  end
end

local function forget(name, ids) -- wherever they are found: as many steps as there are different tags
  local found = {}
  for place, entry in ipairs(values_of(entries, ids)) do
    for tag in string.gmatch(entry and string.match(entry, '^1\n[^\t\n]*([^\n]*)\n') or '', '[^\t]+') do
      found[tag] = found[tag] or {}
      table.insert(found[tag], ids[place])
    end
  end
  remove('HDEL', entries, ids)
  remove('ZREM', lines_of(name), ids)
  for tag, some in pairs(found) do
    remove('ZREM', tagged(tag), some)
  end
end

local function forget_history(name, most) -- the first of it; gives how many that were
  local lines = lines_of(name)
  local ids = redis.call('ZRANGE', lines, 0, most - 1)
  forget(name, ids)
  if redis.call('EXISTS', lines) == 0 then
    redis.call('ZREM', ends, name)
  end
  return #ids
end

local function forget_over() -- those first that were over first
  local left = MOST_FORGOTTEN
  for _, name in ipairs(redis.call('ZRANGEBYSCORE', ends, '-inf', text(now), 'LIMIT', 0, MOST_FORGOTTEN)) do
    if left > 0 then
      left = left - forget_history(name, left)
    end
  end
end

local function note(name, revision, most, lasts, first, count)
  local lines = lines_of(name)
  for number = 0, count - 1 do
    local at, tags, entry = unpack(ARGV, first + 3 * number, first + 3 * number + 2)
    local id = id_of(revision, number)
    redis.call('HSET', entries, id, table.concat({'1\n', name, tags, '\n', entry}))
    redis.call('ZADD', lines, at, id)
    for tag in string.gmatch(tags, '[^\t]+') do
      redis.call('ZADD', tagged(tag), at, id)
    end
  end
  redis.call('ZADD', ends, text(now + lasts * 1000), name)
  forget(name, redis.call('ZRANGEBYSCORE', lines, '-inf', text(now - lasts * 1000)))
  local left = redis.call('ZCARD', lines)
  if left == 0 then
    redis.call('ZREM', ends, name)
  elseif left > most then
    forget_history(name, left - most)
  end
  forget_over()
end
