-- SPDX-License-Identifier: BSL-1.0
-- The fences of a semaphore's slots: a hash, one for each slot, and the node's marker. Both are the last keys of a script that
-- has four or more. Otherwise there are none.
local fences = #KEYS > 3 and KEYS[#KEYS - 1]
local function see_fences(marker)
    if not fences then
        return nil
    end
    if marker ~= '' and redis.call('mget', KEYS[#KEYS])[1] ~= marker then
        return redis.status_reply('STRANGER')
    end
    local kind = redis.call('type', fences).ok
    if kind ~= 'none' and kind ~= 'hash' then
        return redis.error_reply('WRONGTYPE these are no fences of a semaphore: ' .. fences)
    end
end
-- Of these slots the highest, and whether each has one. Nothing: one is no number that can be counted on from.
local function highest_of(slots)
    local highest, all = 0, true
    for _, fence in ipairs(redis.call('hmget', fences, unpack(slots))) do
        local number = tonumber(fence or 0)
        if not (number and number >= 0 and number < 8796093022208) then
            return nil
        end
        all = all and fence
        highest = math.max(highest, number)
    end
    return highest, all
end
local function no_fence()
    return redis.error_reply('WRONGTYPE a fence is no number that can be counted on from: ' .. fences)
end
-- As in fenced_vote.lua.
local function count_on(slots, proposal, milliseconds)
    if not fences then
        return 0
    end
    local highest = highest_of(slots)
    local latest = now + math.floor(milliseconds / 2)
    local fence = highest and math.max(highest + 1, math.min(tonumber(proposal), latest))
    if not fence or fence >= 8796093022208 then
        return nil, no_fence()
    end
    return fence
end
local function set_fences(slots, fence, milliseconds)
    if not fences then
        return
    end
    redis.call('pexpire', fences, milliseconds) -- as in take
    for _, slot in ipairs(slots) do
        redis.call('hset', fences, slot, string.format('%.0f', fence))
    end
    redis.call('pexpire', fences, milliseconds)
end
