-- SPDX-License-Identifier: BSL-1.0
-- Gives several locks back, those of them that are ours (docs/protocol.md, rules M3 and L4). KEYS: the locks, and the line of
-- each, unless that is refused. ARGV[1] nonce, ARGV[2] how many locks. 1: done, 0: not all of them were ours. Where somebody
-- stands in line here, the first has the lock next.
-- with line.lua
local count = tonumber(ARGV[2])
local owners = redis.call('mget', unpack(KEYS, 1, count))
local lines = #KEYS > count and redis.call('exists', unpack(KEYS, count + 1)) > 0
-- Without the rights to that the lock is free.
local function is_handed_on(i)
    local done, given = pcall(function()
        local first, second = call_first(KEYS[count + i], 'take', '0 ' .. ARGV[1])
        if first then
            give(KEYS[i], KEYS[count + i], first, second)
        end
        return first
    end)
    return done and given
end
local ours, free = 0, {}
for i = 1, count do
    if owners[i] == ARGV[1] then
        ours = ours + 1
        if not (lines and is_handed_on(i)) then
            free[#free + 1] = KEYS[i]
        end
    end
end
if #free > 0 then
    redis.call('del', unpack(free))
end
return ours == count and 1 or 0
