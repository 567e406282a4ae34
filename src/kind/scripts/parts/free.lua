-- SPDX-License-Identifier: BSL-1.0
local function is_free()
    if kind == 'hash' then
        -- with over.lua
        purge()
    end
    return kind == 'none'
end
