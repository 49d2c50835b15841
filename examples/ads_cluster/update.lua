-- update.lua — write the value and log by whom, and note a warm-up; nothing of it for one who comes too late.
-- KEYS  1 the value · 2 the fence of the last who wrote it · 3 the log · 4 the last warm-up
-- ARGV  1 our fence · 2 the value · 3 our line for the log · 4 how many lines are kept · 5 the moment of a warm-up, or ''
-- gives 1 written, now or by our first try of which we have not heard · 0 and the newest fence: nothing was written
local newest, fence = redis.call('GET', KEYS[2]) or '', ARGV[1]
if newest == fence then return {1, fence} end
if #newest > #fence or (#newest == #fence and newest > fence) then -- as texts: a number would be rounded above 2^53
  return {0, newest}
end
redis.call('SET', KEYS[1], ARGV[2])
redis.call('SET', KEYS[2], fence)
redis.call('RPUSH', KEYS[3], ARGV[3])
redis.call('LTRIM', KEYS[3], -tonumber(ARGV[4]), -1)
if ARGV[5] ~= '' then redis.call('SET', KEYS[4], ARGV[5]) end
return {1, fence}
