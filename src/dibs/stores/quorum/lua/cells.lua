
-- What a server keeps of sheets that a majority sets. Set before: registers, now (µs).
--
--   registers  a hash, name -> format (1); promised: number, proposer; accepted: number, proposer; the revision up to which
--              what came with the changes was noted; the value, which is for those who ask; a line each.
--              '' -> the floor, up to which no number is heeded; the highest number that was promised; the token under
--              which it was told last: the sign that none of it was forgotten. '~' -> under which token it is told what it has forgotten: the sign
--              that it has not forgotten again since.
--   lapses     the names by when (µs) they can be dropped

local GONE, KEPT, CHANGED, BARE, LATE = 5, 6, 10, 11, 4
local CELL = '^1\n(%d+) (%d+)\n(%d+) (%d+)\n(%d+)\n(.*)$'

local function text(number) -- .. would round it
  return string.format('%.0f', number)
end

local sign = redis.call('HGET', registers, '')
local floor, most_promised, life = 0, 0, ''
if sign then
  floor, most_promised, life = string.match(sign, '^(%d+) (%d+) ?(.*)$')
  floor, most_promised = tonumber(floor), tonumber(most_promised)
end

local function sign_with(new_floor, number) -- both only rise
  floor, most_promised = math.max(floor, new_floor), math.max(most_promised, number)
  redis.call('HSET', registers, '', text(floor) .. ' ' .. text(most_promised) .. ' ' .. life)
end

local function era() -- another whenever it has told one that forgot, or was told itself
  return text(floor) .. ' ' .. life
end

local function is_above(one, by, other, by_other) -- whether the first rank is the higher one
  return one > other or (one == other and by > by_other)
end

local function cell_of(line)
  local promised, to, accepted, from, noted, value = string.match(line or '', CELL)
  if line and not promised then -- nobody may take it for nothing
    error('a sheet is kept in the format of another version of dibs')
  end
  return {
    promised = tonumber(promised or '0'),
    to = tonumber(to or '0'),
    accepted = tonumber(accepted or '0'),
    from = tonumber(from or '0'),
    noted = tonumber(noted or '0'),
    value = value or '',
  }
end

local function known(name)
  return cell_of(redis.call('HGET', registers, name))
end

local function keep(name, cell)
  local ranks = {text(cell.promised) .. ' ' .. text(cell.to), text(cell.accepted) .. ' ' .. text(cell.from)}
  redis.call('HSET', registers, name, table.concat({'1', ranks[1], ranks[2], text(cell.noted), cell.value}, '\n'))
end

local function beaten(cell)
  return {now, CHANGED, text(math.max(floor, cell.promised)), era()}
end

local function told(cell)
  return text(cell.accepted), text(cell.from), text(cell.noted), cell.value
end
