-- Look at the locks that are held or waited for, by name, and forget the names of those that are not.
-- KEYS  index
-- ARGV  prefix of their keys, how many at most
-- gives now (µs) and for each: {key, {as inspect.lua}}
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local index = KEYS[1]
local lock, line, tickets, expiries, holders, leases, counter
-- include layout
-- include holders
-- include sight
-- include view

redis.pcall('ZREMRANGEBYSCORE', index, '-inf', text(now)) -- those of the dead; if nothing can be written, they stay
local names = {}
for _, name in ipairs(redis.call('ZRANGEBYSCORE', index, '(' .. text(now), '+inf')) do
  if string.sub(name, 1, #ARGV[1]) == ARGV[1] then
    names[#names + 1] = name
  end
end
table.sort(names)
local views = {now}
for _, name in ipairs(names) do
  if #views > tonumber(ARGV[2]) then
    break
  end
  local tagged = string.match(name, '^[^{]*{[^}]+}') and name or '{' .. name .. '}'
  lock, line, tickets, expiries = name, tagged .. '~line', tagged .. '~tickets', tagged .. '~expiries'
  holders, leases = tagged .. '~holders', tagged .. '~leases'
  local found = view()
  if #found[1] > 0 or #found > 1 then
    views[#views + 1] = {name, found}
  end
end
return views
