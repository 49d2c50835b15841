-- write.lua — do one write, unless somebody with a higher fence has written since.
-- KEYS  1 what is written · 2 the fence of the last who wrote
-- ARGV  1 our fence · 2 for how long (ms) it is remembered, or 0 for ever · 3 a command · 4… its words after the key
-- gives 1 and what the command gave · 0 and the newest fence: nothing was written
local newest, fence, keep = redis.call('GET', KEYS[2]) or '', ARGV[1], ARGV[2]
if string.find(newest, '%D') then
  return redis.error_reply('ERR ' .. KEYS[2] .. ' holds no fence: another program uses this key')
end
if #newest > #fence or (#newest == #fence and newest > fence) then -- as texts: a number would be rounded above 2^53
  return {0, newest}
end
local given = redis.call(ARGV[3], KEYS[1], unpack(ARGV, 4))
if keep == '0' then
  redis.call('SET', KEYS[2], fence)
else
  redis.call('SET', KEYS[2], fence, 'PX', keep)
end
return {1, given}
